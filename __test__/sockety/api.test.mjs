// Servers and clients of millrace/sockety, with each other.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';

import { until, within } from '../support/deadline.mjs';
import { folderFor } from '../support/files.mjs';
import {
  Connection,
  Draft,
  FastReply,
  FileTransfer,
  MessageHandler,
  ResponseDraft,
  series,
} from '../support/millrace-sockety.mjs';
import { inEach } from '../support/runtimes.mjs';
import { answering, serve } from '../support/sockety-own.mjs';

const echo = new ResponseDraft().data();
const ping = Draft.for('ping');

const collect = async (stream) => Buffer.concat(await stream.toArray());

test('a client and a server talk: responses, fast replies, and messages without an answer', async (t) => {
  const passed = [];
  const { server, to } = await serve(
    t,
    answering(async (message) => {
      if (message.action === 'ping') message.accept();
      else if (message.action === 'echo') message.respond(echo({ data: await message.dataBuffer() }));
      else passed.push(String(await message.dataBuffer()));
    }),
  );
  const client = await to().ready();
  t.true(client instanceof Connection);
  t.is(await client.send(ping()).response(), FastReply.Accept);
  const answer = await client.send(Draft.for('echo').data()({ data: 'grüße' })).response();
  t.is(answer.constructor.name, 'Response');
  t.is(String(await answer.dataBuffer()), 'grüße');
  await client.pass(Draft.for('note').data('one')());
  await client.pass(series(Draft.for('note').data('two')(), Draft.for('note').data('three')()));
  await until(() => passed.length === 3, 'three notes');
  t.deepEqual(passed, ['one', 'two', 'three']);
  t.is(server.clients.length, 1);
  t.is(await server.getConnections(), 1);
});

test('a server sends to its clients, all of them or some', async (t) => {
  const { server, to } = await serve(t);
  const clients = await Promise.all([to().ready(), to().ready(), to().ready()]);
  await until(() => server.clients.length === 3, 'three clients');
  const came = clients.map((client) => once(client, 'message'));
  await server.broadcast(Draft.for('news').msgpack({ at: 1 })());
  const messages = (await Promise.all(came)).map(([message]) => message);
  t.deepEqual(await Promise.all(messages.map((message) => message.msgpack())), [{ at: 1 }, { at: 1 }, { at: 1 }]);
  t.is(new Set(messages.map(({ id }) => String(id))).size, 3, 'each has an id of its own');
  const [first] = server.clients;
  const port = first.remotePort;
  let heard = 0;
  for (const client of clients) client.on('message', () => heard++);
  await server.broadcast(Draft.for('one').data()({ data: 'x' }), (client) => client.remotePort === port);
  await until(() => heard === 1, 'one of them');
  t.is(
    await server.clients[1]
      .send(ping())
      .sent()
      .then(() => 'sent'),
    'sent',
  );
});

test('data, files and a stream go both ways at the same time', async (t) => {
  const folder = folderFor(t, {});
  const large = randomBytes(3_000_000);
  const onDisk = path.join(folder, 'on disk.bin');
  await writeFile(onDisk, large);
  const all = async (readable) => Buffer.concat(await readable.toArray());
  const { to } = await serve(
    t,
    answering(async (message) => {
      const [data, streamed, ...files] = await Promise.all([
        message.dataBuffer(),
        all(message.stream),
        ...message.files.map(all),
      ]);
      const back = new ResponseDraft().data().files().stream();
      const transfers = files.map((bytes, index) => FileTransfer.buffer(bytes, message.files[index].name));
      const request = message.respond(back({ data, files: transfers }));
      request.stream.end(streamed);
    }),
  );
  const client = await to().ready();
  const files = [await FileTransfer.fs(onDisk), FileTransfer.buffer(Buffer.from('small'), 'small.txt')];
  const request = client.send(Draft.for('all').data().files().stream()({ data: large, files }));
  request.stream.write(large.subarray(0, 1_000_000));
  request.stream.end(large.subarray(1_000_000));
  const answer = await request.response();
  const parts = await Promise.all([answer.dataBuffer(), all(answer.stream), ...answer.files.map(all)]);
  t.deepEqual(
    answer.files.map(({ name, size }) => [name, size]),
    [
      ['on disk.bin', large.length],
      ['small.txt', 5],
    ],
  );
  t.deepEqual(
    parts.map((part) => part.length),
    [large.length, large.length, large.length, 5],
  );
  for (const part of parts.slice(0, 3)) t.true(part.equals(large));
});

test('a file is saved whole or not at all', async (t) => {
  const folder = folderFor(t, { 'old.txt': 'what stood there' });
  const outcomes = [];
  const at = (name) => path.join(folder, name);
  const { to } = await serve(
    t,
    answering(async (message) => {
      const saved = message.files.map((file) => file.saveTo(at(path.join(message.action, file.safeName))));
      for (const { status, reason } of await Promise.allSettled(saved)) outcomes.push(reason?.code ?? status);
      message.accept();
    }),
  );
  const client = await to().ready();
  const draft = (action) => Draft.for(action).files();
  const large = randomBytes(2_000_000);
  const files = [FileTransfer.buffer(large, 'large.bin'), FileTransfer.buffer(Buffer.from('new'), '../../old.txt')];
  t.is(await client.send(draft('.')({ files })).response(), 0);
  t.true((await readFile(at('large.bin'))).equals(large));
  t.is(await readFile(at('old.txt'), 'utf8'), 'new');
  t.is(await client.send(draft('no such folder')({ files })).response(), 0);
  const broken = FileTransfer.stream(Readable.from([large.subarray(0, 1_000_000)]), large.length, 'large.bin');
  await t.throwsAsync(client.pass(draft('.')({ files: [broken] })));
  await until(() => outcomes.length === 5, 'five outcomes');
  t.deepEqual(outcomes, ['fulfilled', 'fulfilled', 'ENOENT', 'ENOENT', 'ERR_SOCKETY_ABORTED']);
  t.true((await readFile(at('large.bin'))).equals(large), 'as before');
  t.deepEqual((await readdir(folder)).sort(), ['large.bin', 'old.txt']);
  t.false(client.closed);
});

test('a message handler answers by actions', async (t) => {
  const handler = new MessageHandler()
    .action('a', () => FastReply.Accept)
    .action('t', () => {
      throw new Error('thrown');
    })
    .error(() => FastReply.InternalError)
    .use(() => FastReply.NotImplemented);
  const { to } = await serve(t, answering(handler));
  const client = await to().ready();
  const answers = ['a', 't', 'n'].map((action) => client.send(Draft.for(action)()).response());
  t.deepEqual(await Promise.all(answers), [0, 5, 2]);
});

test('an uncaught error of a handler is an error event of the connection', async (t) => {
  const errors = [];
  const handler = new MessageHandler().action('t', () => {
    throw new Error('thrown');
  });
  const { to } = await serve(t, (connection) => {
    connection.on('message', handler);
    connection.on('error', (error) => errors.push(error.message));
  });
  const client = await to().ready();
  await client.pass(Draft.for('t')());
  await until(() => errors.length > 0, 'an error');
  t.deepEqual(errors, ['thrown']);
  t.false(client.closed);
});

test('one at a time towards a peer with one channel', async (t) => {
  const { to } = await serve(
    t,
    answering((message) => message.accept()),
    { maxReceivedChannels: 1 },
  );
  const client = await to().ready();
  const answers = Array.from({ length: 50 }, () => client.send(Draft.for('x').data('small')()).response());
  t.deepEqual(new Set(await Promise.all(answers)), new Set([0]));
});

test('contents of every kind go to a peer with one channel', async (t) => {
  const { to } = await serve(
    t,
    answering(async (message) => {
      const parts = [message.dataBuffer(), collect(message.files[0]), collect(message.stream)];
      message.respond(echo({ data: Buffer.concat(await Promise.all(parts)) }));
    }),
    { maxReceivedChannels: 1 },
  );
  const client = await to().ready();
  const bytes = (length, value) => Buffer.alloc(length, value);
  const answers = Array.from({ length: 3 }, async (_, index) => {
    const files = [FileTransfer.buffer(bytes(100_000, 1), 'a')];
    const request = client.send(Draft.for('x').data(bytes(3_000_000, index)).files(files).stream()());
    request.stream.end(bytes(70_000, 2));
    return (await request.response()).dataBuffer();
  });
  for (const [index, answer] of (await Promise.all(answers)).entries()) {
    t.true(answer.equals(Buffer.concat([bytes(3_000_000, index), bytes(100_000, 1), bytes(70_000, 2)])));
  }
});

test('as much as one likes is sent at once, in its order', async (t) => {
  const seen = [];
  const { to } = await serve(
    t,
    answering((message) => {
      seen.push(message.action);
      message.accept();
      message.discard();
    }),
  );
  const client = await to().ready();
  const names = Array.from({ length: 800 }, (_, index) => String(index));
  const data = Buffer.alloc(60_000);
  const requests = names.map((name) => client.send(Draft.for(name).data(data)()));
  const last = client.send(Draft.for('last').stream()());
  last.stream.end();
  const answers = [...requests, last].map((request) => request.response());
  t.deepEqual(new Set(await Promise.all(answers)), new Set([0]));
  await requests.at(-1).sent();
  t.deepEqual(seen, [...names, 'last']);
});

test('messages sent faster than they are taken are finally refused, and the connection continues', async (t) => {
  const { server, to } = await serve(
    t,
    answering((message) => {
      message.accept();
      message.discard();
    }),
  );
  const client = await to().ready();
  const data = Buffer.alloc(64_000);
  const sent = Array.from({ length: 1_200 }, () => client.pass(Draft.for('x').data(data)()));
  const outcomes = await Promise.allSettled(sent);
  const refused = outcomes.filter(({ reason }) => reason?.code === 'ERR_SOCKETY_NOT_SENT').length;
  t.true(refused > 50 && refused < 250, String(refused));
  t.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 1_200 - refused);
  t.is(await client.send(ping()).response(), 0);
  t.is(server.clients.length, 1);
});

test('messages without a listener are dropped, and do not block the rest', async (t) => {
  const { to } = await serve(t);
  const client = await to().ready();
  await within(client.pass(Draft.for('x').data(Buffer.alloc(40_000_000))()), '40 MB that nobody reads');
  t.false(client.closed);
});

test('data of every size arrives whole', async (t) => {
  const lengths = [];
  const { to } = await serve(
    t,
    answering(async (message) => lengths.push((await message.dataBuffer()).length)),
  );
  const client = await to().ready();
  const sizes = [
    0,
    1,
    65_535,
    65_536,
    65_537,
    2 ** 18,
    2 ** 19,
    2 ** 20 - 1,
    2 ** 20,
    2 ** 20 + 1,
    2 ** 21,
    3 * 2 ** 20,
  ];
  for (const size of sizes) await within(client.pass(Draft.for('x').data(Buffer.alloc(size))()), `${size} bytes`);
  await until(() => lengths.length === sizes.length, 'all of them');
  t.deepEqual(
    lengths.sort((a, b) => a - b),
    sizes,
  );
});

test('many messages at the same time, each whole', async (t) => {
  const { to } = await serve(
    t,
    answering(async (message) => message.respond(echo({ data: await message.dataBuffer() }))),
  );
  const client = await to().ready();
  const draft = Draft.for('echo').data().optimize();
  const count = 10_000;
  const answers = Array.from({ length: count }, async (_, index) => {
    const data = Buffer.alloc(index % 300, index % 256);
    const answer = await client.send(draft({ data })).response();
    return (await answer.dataBuffer()).equals(data);
  });
  t.is((await Promise.all(answers)).filter(Boolean).length, count);
});

test('an answer may be answered', async (t) => {
  const { to } = await serve(
    t,
    answering(async (message) => {
      const next = await message.respond(echo({ data: 'first' })).response();
      await next.respond(echo({ data: `${await next.dataBuffer()} and third` })).sent();
    }),
  );
  const client = await to().ready();
  const first = await client.send(ping()).response();
  const request = first.respond(echo({ data: `${await first.dataBuffer()}, second` }));
  const third = await request.response();
  t.is(String(await third.dataBuffer()), 'first, second and third');
  t.true(first.responded);
  await turn();
});

inEach(test, 'a server and a client in one process', async (t, { launch }) => {
  const process = await launch();
  t.deepEqual(await process.run('sockety-own'), {
    codes: [FastReply.Accept, FastReply.NotImplemented, FastReply.Accept],
    data: true,
    file: true,
    seen: ['goAway', 'close'],
    refused: 'ECONNREFUSED',
  });
});

test('as many messages are under way as there are channels, and more wait', async (t) => {
  const seen = new Set();
  const { to } = await serve(
    t,
    answering(async (message) => {
      seen.add(message.action);
      const text = Buffer.concat(await message.stream.toArray()).toString();
      message.fastReply(text === `${message.action} and more` ? 1 : 2);
    }),
  );
  const client = await to().ready();
  const requests = Array.from({ length: 4100 }, (_, index) => {
    const request = client.send(Draft.for(String(index)).stream()());
    request.stream.write(String(index));
    return request;
  });
  await until(() => seen.size === 4096, 'one on each channel');
  t.is(seen.size, 4096);
  const answers = requests.map((request) => request.response());
  for (const request of requests) request.stream.end(' and more');
  t.deepEqual([...new Set(await Promise.all(answers))], [1]);
  t.is(seen.size, 4100);
});
