// `call`: the server calls a method of a client of `millrace.v1`.
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

import test from 'ava';
import { WebSocket } from 'ws';

import { until } from '../support/deadline.mjs';
import { folderFor } from '../support/files.mjs';
import { createClient } from '../support/millrace-client.mjs';
import { open, ownServer, sharedServer, worker } from '../support/server.mjs';
import { speak } from '../support/v1.mjs';

const channels = [['room:*', { clients: { subscribe: true, publish: true } }]];
const options = { workerPath: worker('v1-handlers'), threads: 1, ioThreads: 2, channels };
const server = sharedServer(test, options);

/** Answers what a handler of this name waits for with a value. */
async function release(releaser, name, value) {
  const isThere = async () => {
    releaser.send({ t: 'call', id: 'r', m: 'release' }, JSON.stringify({ name, value }));
    return (await releaser.next())[1] === 'true';
  };
  await until(isThere, `${name} to be held`);
}

/** Why a call is rejected: the code and the reason. */
async function rejected(t, calling) {
  const { name, code, message } = await t.throwsAsync(calling);
  t.is(name, 'CallError');
  return message === code ? [code] : [code, message.slice(`${code}: `.length)];
}

test('parameters and results are text and bytes as they are, and other values go as JSON', async (t) => {
  const client = await speak(t, server);
  const id = Number(client.hi.s);
  const given = [
    [undefined, undefined],
    ['text', 'text'],
    ['', ''],
    [{ a: [1] }, '{"a":[1]}'],
    [7, '7'],
    [null, 'null'],
    [Buffer.from([0xff, 10]), Buffer.from([0xff, 10])],
    ['x'.repeat(200_000), 'x'.repeat(200_000)],
  ];
  let number = 0;
  for (const [params, sent] of given) {
    const answer = server.call('call', id, 'method', params);
    const [header, payload] = await client.next();
    number += 1;
    t.deepEqual(header, { t: 'call', id: number, m: 'method' });
    t.deepEqual(payload, sent);
    client.send({ t: 'ok', id: number }, payload);
    t.deepEqual(await answer, sent ?? '');
  }
});

test('calls are answered in any order, once, and unknown answers are ignored', async (t) => {
  const client = await speak(t, server);
  const id = Number(client.hi.s);
  const answers = [1, 2, 3].map((number) => server.call('call', id, 'number', number));
  const ids = {};
  for (const _ of answers) {
    const [header, payload] = await client.next();
    ids[payload] = header.id;
  }
  for (let round = 0; round < 30; round++) client.send({ t: 'ok', id: 'unknown' });
  client.send({ t: 'ok', id: ids[3] }, 'three');
  client.send({ t: 'err', id: ids[3], code: 'late' });
  client.send({ t: 'err', id: ids[1], code: 'own', reason: 'because' });
  client.send({ t: 'err', id: ids[2], code: 'bare' });
  t.is(await answers[2], 'three');
  t.deepEqual(await rejected(t, answers[0]), ['own', 'because']);
  t.deepEqual(await rejected(t, answers[1]), ['bare']);
  t.deepEqual(await client.all(), []);
});

test('a late answer is ignored, and does not count as malformed', async (t) => {
  const client = await speak(t, server);
  const id = Number(client.hi.s);
  const late = server.call('call', id, 'late', undefined, { timeoutMs: 50 });
  t.deepEqual(await rejected(t, late), ['timeout', 'no answer within 50 ms']);
  const [header] = await client.next();
  for (let round = 0; round < 20; round++) client.send({ t: 'ok', id: header.id }, 'too late');
  t.deepEqual(await client.all(), []);
});

test('a call to nobody, to a client that leaves or to one of another protocol is rejected', async (t) => {
  t.deepEqual(await rejected(t, server.call('call', 2 ** 40, 'method')), ['closed']);
  const raw = await open(t, server);
  raw.send('my id');
  t.deepEqual(await rejected(t, server.call('call', Number(await raw.text()), 'method')), [
    'not_found',
    'the socket does not speak millrace.v1',
  ]);
  const client = await speak(t, server);
  const pending = server.call('call', Number(client.hi.s), 'method');
  pending.catch(() => {});
  await client.next();
  client.ws.close();
  t.deepEqual(await rejected(t, pending), ['closed']);
});

test('callsPerSocket bounds the calls that a client has not answered', async (t) => {
  const own = await ownServer(t, { ...options, limits: { callsPerSocket: 3 } });
  const client = await speak(t, own);
  const id = Number(client.hi.s);
  const short = own.call('call', id, 'm', undefined, { timeoutMs: 50 });
  t.deepEqual(await rejected(t, short), ['timeout', 'no answer within 50 ms']);
  // one that is waited for no longer has no place
  const calls = [1, 2, 3].map((number) => own.call('call', id, 'm', number));
  const headers = [];
  for (let count = 0; count < 4; count++) headers.push((await client.next())[0]);
  t.deepEqual(await rejected(t, own.call('call', id, 'm', 4)), ['limit', 'too many calls are unanswered']);
  client.send({ t: 'ok', id: headers[1].id });
  t.is(await calls[0], '');
  const next = own.call('call', id, 'm', 5);
  const [header] = await client.next();
  for (const { id: one } of [headers[2], headers[3], header]) client.send({ t: 'ok', id: one }, 'done');
  t.deepEqual(await Promise.all([calls[1], calls[2], next]), ['done', 'done', 'done']);
});

test('answers that a busy thread does not take wait only up to a bound', async (t) => {
  const own = await ownServer(t, options);
  const clients = await Promise.all(Array.from({ length: 90 }, () => speak(t, own)));
  const calls = clients.map(async ({ hi }) => {
    const answer = await own.call('call', Number(hi.s), 'report', undefined, { timeoutMs: 60_000 }).then(
      (text) => text.length,
      (error) => error,
    );
    return typeof answer === 'number' ? answer : [answer.code, answer.message];
  });
  for (const client of clients) t.is((await client.next())[0].m, 'report');
  const before = await residentBytes(own.pid);
  const done = path.join(folderFor(t, {}), 'done');
  const busy = own.block(1, done);
  const report = 'x'.repeat(1 << 20);
  for (const client of clients) {
    client.send({ t: 'ok', id: 1 }, report);
    // an I/O thread answers this, behind the report
    await client.all();
  }
  const grown = (await residentBytes(own.pid)) - before;
  await writeFile(done, '');
  await busy;
  const answers = await Promise.all(calls);
  const limited = answers.filter((answer) => Array.isArray(answer));
  t.is(limited.length, 90 - 64);
  for (const [code] of limited) t.is(code, 'limit');
  t.true(answers.every((answer) => Array.isArray(answer) || answer === 1 << 20));
  t.true(grown < 80 << 20, `${grown / 2 ** 20} MiB more`);
});

/** The resident memory of a process, without asking its main thread; 0 where only that could tell. */
async function residentBytes(pid) {
  if (process.platform !== 'linux') return 0;
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)[1]) * 1024;
}

test('a handler calls the client that waits for it, however many of its requests wait', async (t) => {
  const client = await speak(t, server);
  const other = await speak(t, server);
  client.send({ t: 'call', id: 'back', m: 'back' }, 'hold back');
  for (let id = 0; id < 200; id++) client.send({ t: 'pub', id, c: 'room:full' }, id === 0 ? 'hold full' : `${id}`);
  client.send({ t: 'sub', id: 'late', c: 'room:full' });
  await release(other, 'hold back', undefined);
  const refused = [];
  let called;
  while (refused.length < 73 || called === undefined) {
    const [header, payload] = await client.next();
    if (header.t === 'call') called = [header, payload];
    else refused.push(header);
  }
  t.like(called, [{ m: 'back' }, 'again?']);
  const refusal = (id, code) => ({ t: 'err', id, code, reason: 'too many requests wait' });
  // a client whose subscription fails tries again
  t.deepEqual(refused.pop(), refusal('late', 'failed'));
  t.deepEqual(
    refused,
    Array.from({ length: 72 }, (_, index) => refusal(128 + index, 'limit')),
  );
  client.send({ t: 'ok', id: called[0].id }, 'once more');
  t.deepEqual(await client.next(), [{ t: 'ok', id: 'back' }, 'once more']);
  await release(other, 'hold full', true);
  for (let id = 0; id < 128; id++) t.deepEqual(await client.next(), [{ t: 'ok', id }]);
  t.deepEqual(await client.ask({ t: 'pub', c: 'room:full' }, 'next'), { t: 'ok' });
});

test('a call is rejected when its client begins to close', async (t) => {
  const own = await ownServer(t, { ...options, limits: { closeTimeoutMs: 60_000 } });
  const client = await speak(t, own);
  const id = Number(client.hi.s);
  const pending = own.call('call', id, 'method', undefined, { timeoutMs: 55_000 });
  pending.catch(() => {});
  await client.next();
  // it does not answer the close
  client.ws.pause();
  await own.call('close', id, 4000, 'over');
  t.deepEqual(await rejected(t, pending), ['closed']);
  t.deepEqual(await rejected(t, own.call('call', id, 'method')), ['closed']);
});

test('wrong arguments are a TypeError', async (t) => {
  const wrong = [
    [['x', 'm'], /socketId/],
    [[1, ''], /method/],
    [[1, 'x'.repeat(1025)], /method/],
    [[1, 'm', undefined, { timeoutMs: 0 }], /timeoutMs/],
    [[1, 'm', undefined, { timeout: 5 }], /timeout/],
  ];
  for (const [args, message] of wrong) {
    await t.throwsAsync(server.call('call', ...args), { message });
  }
});

test('millrace/client calls, is called, and both sides have CallErrors', async (t) => {
  const client = createClient(`ws://${server.addresses[0]}/`, { WebSocket });
  t.teardown(() => client.close());
  await until(() => client.status === 'open', 'the client to be open');
  t.deepEqual(await client.call('parsed', { a: 1 }), { got: { a: 1 } });
  t.deepEqual(await client.call('echo', Buffer.from([1, 2])), new Uint8Array([1, 2]));
  t.is(await client.call('nothing'), undefined);
  const sold = await t.throwsAsync(client.call('code sold_out|gone'));
  t.like(sold, { name: 'CallError', code: 'sold_out', reason: 'gone' });
  client.handle('double', (value) => ({ doubled: value.of * 2 }));
  t.is(await server.call('call', Number(client.socketId), 'double', { of: 21 }), '{"doubled":42}');
  t.deepEqual(await rejected(t, server.call('call', Number(client.socketId), 'other')), ['not_found']);
  const denied = await t.throwsAsync(client.publish('room:1', Buffer.from('no')));
  t.is(denied.code, 'denied');
});
