// Publications, calls and other requests: the queue, its bound, timeouts, what a lost link means for them; payloads. Over 400 lines
// because they share the scripted connection.
import test from 'ava';
import { WebSocket } from 'ws';

import { until } from '../support/deadline.mjs';
import { CallError, createClient } from '../support/millrace-client.mjs';
import { open, scripted, settled } from '../support/scripted-socket.mjs';
import { V1Server } from '../support/v1-server.mjs';

/** A client of the server in the tests. */
function visitor(t, server, options) {
  const client = createClient(server.url, { WebSocket, ...options });
  t.teardown(() => client.close());
  return client;
}

/** The rejection of a promise: `[code, reason]`. */
const rejected = (promise) =>
  promise.then(
    () => 'fulfilled',
    ({ code, reason }) => [code, reason],
  );

test('a publication resolves with its position', async (t) => {
  const server = await V1Server.start(t, { channels: (name) => ({ history: name === 'kept' ? 10 : 0 }) });
  const client = visitor(t, server);
  t.deepEqual(await client.publish('plain', 'a'), { position: undefined });
  const { epoch } = server.channels.get('kept');
  t.deepEqual(await client.publish('kept', 'a'), { position: { epoch, offset: 1 } });
  t.deepEqual(await client.publish('kept', 'b', { idempotencyKey: 'mine' }), { position: { epoch, offset: 2 } });
  t.deepEqual(await client.publish('kept', 'c', { idempotencyKey: 'mine' }), { position: { epoch, offset: 2 } });
  const keys = server.current.received.map(({ key }) => key);
  t.is(new Set(keys).size, 3);
  t.true(keys.every((key) => key.length <= 64));
  t.deepEqual(server.violations, []);
});

test('values are JSON, bytes are bytes, other text stays text, in both directions', async (t) => {
  const server = await V1Server.start(t);
  const client = visitor(t, server);
  const got = [];
  client.subscribe('a', { onMessage: ({ data }) => got.push(data) });
  const values = ['text', '5', '', null, true, 1.5, { deep: [{ n: 1 }] }, 'caf\u{e9}\n\u{1f600}'];
  for (const value of values) await client.publish('a', value);
  const wide = Uint16Array.of(1, 2, 3, 4);
  for (const value of [Uint8Array.of(0, 10, 255), Uint8Array.of(7).buffer, wide.subarray(1, 3), new Uint8Array(0)]) {
    await client.publish('a', value);
  }
  server.publish('a', 'no {json');
  server.publish('a', '');
  server.publish('a', undefined);
  server.publish('a', '[1,\n2]');
  const bytes = [[0, 10, 255], [7], [2, 0, 3, 0], []].map((list) => Uint8Array.from(list));
  const expected = [...values, ...bytes, 'no {json', '', undefined, [1, 2]];
  await until(() => got.length === expected.length, 'all messages');
  t.deepEqual(got, expected);
  const { kept } = server.channels.get('a');
  t.is(kept[0].payload, '"text"');
  t.deepEqual([...kept[8].payload], [0, 10, 255]);
  t.deepEqual(server.violations, []);
});

test('names with any characters arrive, also in front of bytes', async (t) => {
  const server = await V1Server.start(t);
  const client = visitor(t, server);
  const name = 'caf\u{e9}\n"\u{1f600}';
  const got = [];
  client.subscribe(name, { onMessage: ({ data, channel }) => got.push([data, channel]) });
  await client.publish(name, Uint8Array.of(1));
  await until(() => got.length === 1, 'the message');
  t.deepEqual(got, [[Uint8Array.of(1), name]]);
});

test('bytes may be changed after the call', async (t) => {
  const { client, made } = await scripted(t);
  const bytes = Uint8Array.of(1);
  client.publish('a', bytes).catch(() => {});
  bytes[0] = 2;
  made[0].hi();
  t.is(made[0].sent[0].at(-1), 1);
});

test('calls have answers, errors of the server, and their codes', async (t) => {
  const server = await V1Server.start(t);
  server.methods.fail = (_, session, id) => void session.send({ t: 'err', id, code: 'sold_out', reason: 'come back' });
  const client = visitor(t, server);
  t.deepEqual(await client.call('echo', { id: 7 }), { id: 7 });
  t.deepEqual(await client.call('echo', Uint8Array.of(9)), Uint8Array.of(9));
  t.deepEqual(await rejected(client.call('none')), ['not_found', undefined]);
  const error = await t.throwsAsync(client.call('fail'), { instanceOf: CallError });
  t.deepEqual([error.name, error.code, error.reason], ['CallError', 'sold_out', 'come back']);
  t.is(error.message, 'sold_out: come back');
  t.deepEqual(server.violations, []);
});

test('the server calls the client', async (t) => {
  const server = await V1Server.start(t);
  const client = visitor(t, server);
  client.handle('add', async ({ a, b }) => a + b);
  client.handle('bytes', (bytes) => bytes);
  client.handle('nothing', () => {});
  client.handle('refuse', () => {
    throw new CallError('busy', 'later');
  });
  client.handle('break', () => {
    throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
  });
  const replaced = client.handle('gone', () => 1);
  const remove = client.handle('gone', () => 2);
  replaced();
  const session = await server.connections(1);
  const ask = async (method, payload) => {
    const { header, payload: answer } = await session.call(method, payload);
    return [header.t, header.code ?? answer, header.reason].filter((part) => part !== undefined);
  };
  t.deepEqual(await ask('add', '{"a":1,"b":2}'), ['ok', '3']);
  t.deepEqual(await ask('bytes', Buffer.of(1, 2)), ['ok', Buffer.of(1, 2)]);
  t.deepEqual(await ask('nothing'), ['ok']);
  t.deepEqual(await ask('refuse'), ['err', 'busy', 'later']);
  t.deepEqual(await ask('break'), ['err', 'failed', 'Error: no such file']);
  t.deepEqual(await ask('none'), ['err', 'not_found']);
  t.deepEqual(await ask('gone'), ['ok', '2']);
  remove();
  t.deepEqual(await ask('gone'), ['err', 'not_found']);
  t.deepEqual(server.violations, []);
});

test('a reason is cut between characters', async (t) => {
  const { client, made, CallError } = await open(t);
  const long = `.${'\u{1f600}'.repeat(300)}`;
  client.handle('break', () => {
    throw long;
  });
  client.handle('refuse', () => {
    throw new CallError('busy', `\ud83d${long}`);
  });
  for (const [id, m] of ['break', 'refuse'].entries()) {
    made[0].say({ t: 'call', id, m });
    await settled();
    const { reason } = made[0].headers.at(-1);
    t.notRegex(reason, /\p{Cs}/u);
    t.true(long.startsWith(reason) && reason.length > 490 && reason.length <= 500);
  }
});

test('an answer to a call of a lost link is not sent on the next one', async (t) => {
  const { client, clock, made } = await open(t);
  let answer;
  client.handle('slow', () => new Promise((resolve) => (answer = resolve)));
  made[0].say({ t: 'call', id: 1, m: 'slow' });
  made[0].end();
  clock.pass(30_000);
  await settled();
  made[1].hi();
  answer(1);
  await settled();
  t.deepEqual([...made[0].sent, ...made[1].sent], []);
});

test('an answer to a call of a lost link is not sent while the next one begins, nor to a server with the same ids', async (t) => {
  const { client, clock, made } = await open(t);
  const answers = [];
  client.handle('slow', () => new Promise((resolve) => answers.push(resolve)));
  made[0].hi({ s: '1' });
  for (const id of [1, 2]) made[0].say({ t: 'call', id, m: 'slow' });
  made[0].end();
  clock.pass(500);
  await settled();
  // a WebSocket throws before it is open
  made[1].send = () => {
    made[1].threw = true;
    throw new Error('connecting');
  };
  answers[0](1);
  await settled();
  t.falsy(made[1].threw);
  delete made[1].send;
  made[1].hi({ s: '1' });
  answers[1](1);
  await settled();
  t.deepEqual([...made[0].sent, ...made[1].sent], []);
});

test('presence comes in pages', async (t) => {
  const server = await V1Server.start(t, { page: 2 });
  const clients = [1, 2, 3, 4, 5].map(() => visitor(t, server));
  const rooms = clients.map((client, index) => client.subscribe('a', { info: { index } }));
  await until(() => server.channels.get('a').members.size === 5, 'five members');
  const members = await rooms[0].presence();
  t.deepEqual(
    members.map(({ socketId }) => socketId),
    ['1', '2', '3', '4', '5'],
  );
  t.deepEqual(new Set(members.map(({ info }) => info.index)), new Set([0, 1, 2, 3, 4]));
  const of = members.find(({ socketId }) => socketId === clients[2].socketId);
  t.deepEqual(of.info, { index: 2 });
  t.deepEqual(server.violations, []);
});

test('the history is read in both directions and from a position', async (t) => {
  const server = await V1Server.start(t);
  for (let number = 1; number <= 5; number++) server.publish('a', `${number}`);
  const room = visitor(t, server).subscribe('a');
  const { epoch } = server.channels.get('a');
  const read = async (options) => (await room.history(options)).publications.map(({ data }) => data);
  t.deepEqual(await read(), [1, 2, 3, 4, 5]);
  t.deepEqual(await read({ limit: 2 }), [1, 2]);
  t.deepEqual(await read({ limit: 2, reverse: true }), [5, 4]);
  t.deepEqual(await read({ since: { epoch, offset: 3 } }), [4, 5]);
  t.deepEqual(await read({ since: { epoch, offset: 5 } }), []);
  const { position, publications } = await room.history({ limit: 1 });
  t.deepEqual(position, { epoch, offset: 5 });
  t.is(publications[0].offset, 1);
  t.deepEqual(server.violations, []);
});

test('at most 1,000 requests wait, and with queue: false none', async (t) => {
  const { client, made } = await scripted(t);
  const waiting = Array.from({ length: 1000 }, (_, index) => rejected(client.call('m', index)));
  t.deepEqual(await rejected(client.call('m')), ['limit', '1000 requests wait']);
  t.deepEqual(await rejected(client.publish('a', 1, { queue: false })), ['closed', undefined]);
  // not more at once than the server takes
  made[0].hi();
  t.is(made[0].sent.length, 100);
  for (let id = 1; id <= 1000; id++) made[0].say({ t: 'ok', id });
  t.deepEqual(new Set(await Promise.all(waiting)), new Set(['fulfilled']));
  t.deepEqual(
    made[0].sent.map((message) => Number(message.split('\n')[1])),
    Array.from({ length: 1000 }, (_, n) => n),
  );
  const direct = client.call('m', 1, { queue: false });
  made[0].answer('call', {}, '2');
  t.is(await direct, 2);
});

test('requests time out, also while they wait, and a late answer changes nothing', async (t) => {
  const { client, clock, made } = await scripted(t);
  const waiting = rejected(client.call('m', 1, { timeoutMs: 1000 }));
  const patient = client.publish('a', 1);
  clock.pass(1000);
  t.deepEqual(await waiting, ['timeout', undefined]);
  made[0].hi();
  t.is(made[0].sent.length, 1);
  const call = rejected(client.call('m'));
  clock.pass(9999);
  made[0].say({ t: 'pong' });
  clock.pass(1);
  t.deepEqual(await call, ['timeout', undefined]);
  made[0].answer('call');
  made[0].answer('pub');
  t.deepEqual(await patient, { position: undefined });
});

test('after a loss, calls that were sent reject and those that wait are sent', async (t) => {
  const { client, clock, made } = await open(t);
  const sent = rejected(client.call('first'));
  made[0].end();
  const waiting = client.call('second');
  t.deepEqual(await sent, ['closed', undefined]);
  clock.pass(500);
  await settled();
  made[1].hi();
  t.deepEqual(
    made[1].headers.map(({ m }) => m),
    ['second'],
  );
  made[1].answer('call', {}, '2');
  t.is(await waiting, 2);
});

test('after a loss, requests with queue: false reject also if they waited behind others', async (t) => {
  const { client, clock, made } = await open(t);
  const sent = Array.from({ length: 100 }, () => rejected(client.call('first')));
  const impatient = [client.call('now', 1, { queue: false }), client.publish('a', 1, { queue: false })].map(rejected);
  const patient = client.call('second');
  t.is(made[0].sent.length, 100);
  made[0].end();
  t.deepEqual(await Promise.all(impatient), Array(2).fill(['closed', undefined]));
  t.deepEqual(await Promise.all(sent), Array(100).fill(['closed', undefined]));
  clock.pass(500);
  await settled();
  made[1].hi();
  t.deepEqual(
    made[1].headers.map(({ m }) => m),
    ['second'],
  );
  made[1].answer('call', {}, '2');
  t.is(await patient, 2);
});

test('nothing is given to a socket that closes, of which a browser would complain', async (t) => {
  const { client, clock, made } = await open(t);
  const publication = client.publish('kept', 1);
  made[0].answer('pub', { e: 'e', o: 1 });
  await publication;
  made[0].readyState = 2;
  const call = rejected(client.call('first'));
  const again = client.publish('kept', 2);
  t.is(made[0].sent.length, 1);
  made[0].end();
  t.deepEqual(await call, ['closed', undefined]);
  clock.pass(500);
  await settled();
  made[1].hi();
  made[1].answer('pub', { e: 'e', o: 2 });
  t.is((await again).position.offset, 2);
});

test('after a loss, publications are sent again in order with their keys, if the channel has history', async (t) => {
  const { client, clock, made } = await open(t);
  const first = client.publish('kept', 1);
  made[0].answer('pub', { e: 'e', o: 1 });
  await first;
  const again = [client.publish('kept', 2), client.publish('kept', 3)];
  const plain = rejected(client.publish('plain', 4));
  const impatient = rejected(client.publish('kept', 9, { queue: false }));
  const keys = made[0].headers.filter(({ c }) => c === 'kept').map(({ key }) => key);
  made[0].end();
  again.push(client.publish('kept', 5));
  t.deepEqual(await plain, ['closed', undefined]);
  t.deepEqual(await impatient, ['closed', undefined]);
  clock.pass(500);
  await settled();
  made[1].hi();
  t.deepEqual(
    made[1].sent.map((message) => message.split('\n')[1]),
    ['2', '3', '5'],
  );
  t.deepEqual(
    made[1].headers.slice(0, 2).map(({ key }) => key),
    keys.slice(1, 3),
  );
  for (const [index, { id }] of made[1].headers.entries()) made[1].say({ t: 'ok', id, e: 'e', o: index + 2 });
  const positions = await Promise.all(again);
  t.deepEqual(
    positions.map(({ position }) => position.offset),
    [2, 3, 4],
  );
});

test('of 1,000 channels with history the one that was not used for longest is forgotten', async (t) => {
  const { client, clock, made } = await open(t);
  const publish = (name) => {
    const published = client.publish(name, 1);
    made[0].answer('pub', { e: 'e', o: 1 });
    return published;
  };
  for (let number = 0; number < 1000; number++) await publish(`c${number}`);
  await publish('c0');
  await publish('one more');
  const forgotten = rejected(client.publish('c1', 1));
  for (const name of ['c0', 'c2', 'c999', 'one more']) client.publish(name, 1).catch(() => {});
  made[0].end();
  t.deepEqual(await forgotten, ['closed', undefined]);
  clock.pass(500);
  await settled();
  made[1].hi();
  t.deepEqual(
    made[1].headers.map(({ c }) => c),
    ['c0', 'c2', 'c999', 'one more'],
  );
});

test('a publication whose answer was lost is not doubled', async (t) => {
  const server = await V1Server.start(t);
  const client = visitor(t, server);
  await client.publish('a', 'first');
  server.lostAnswers = true;
  const second = client.publish('a', 'second');
  await until(() => server.channels.get('a').offset === 2, 'the publication');
  server.lostAnswers = false;
  server.current.cut();
  t.is((await second).position.offset, 2);
  t.is(server.channels.get('a').offset, 2);
  t.is(server.sessions.length, 2);
});

test('a history that was not complete when the link was lost rejects', async (t) => {
  const { client, made } = await open(t);
  const room = client.subscribe('a');
  made[0].answer('sub', { e: 'e', o: 2 });
  const history = rejected(room.history());
  made[0].answer('hist', { e: 'e', o: 2, n: 2 });
  made[0].say({ c: 'a', o: 1, re: 2 }, '1');
  made[0].end();
  t.deepEqual(await history, ['closed', undefined]);
});

test('what JSON does not have is refused at the call, and holds up nothing', async (t) => {
  const { client, clock, made } = await open(t);
  const loop = {};
  loop.loop = loop;
  for (const options of [{ info: 1n }, { info: loop }, { last: 1n }, { since: { epoch: 1n, offset: 1 } }]) {
    t.throws(() => client.subscribe('a', options), { instanceOf: TypeError });
  }
  await t.throwsAsync(client.publish('a', 1, { idempotencyKey: 1n, timeoutMs: 5 }), { instanceOf: TypeError });
  const info = { name: 'me' };
  const room = client.subscribe('a', { info });
  client.subscribe('b');
  made[0].answer('sub');
  await t.throwsAsync(room.setInfo(loop), { instanceOf: TypeError });
  const refused = rejected(room.setInfo('denied'));
  made[0].say({ t: 'err', id: made[0].headers.at(-1).id, code: 'denied' });
  t.deepEqual(await refused, ['denied', undefined]);
  info.loop = info;
  made[0].end();
  // the timers of what was refused, too
  clock.pass(30_000);
  await settled();
  made[1].hi();
  t.deepEqual(
    made[1].headers.map(({ t, c, info }) => [t, c, info]),
    [
      ['sub', 'a', { name: 'me' }],
      ['sub', 'b', undefined],
    ],
  );
});

test('what does not fit in a header is refused at the call', async (t) => {
  const { client, clock, made } = await open(t);
  const long = '\u{1f600}'.repeat(2050);
  t.is((await rejected(client.call(long)))[0], 'limit');
  t.is((await rejected(client.publish(long, 1)))[0], 'limit');
  t.throws(() => client.subscribe(long), { code: 'limit' });
  t.throws(() => client.subscribe('a', { info: long }), { code: 'limit' });
  const errors = [];
  const room = client.subscribe('a', { onError: ({ code }) => errors.push(code), info: long.slice(200) });
  client.subscribe('b');
  t.is((await rejected(room.setInfo(long)))[0], 'limit');
  t.deepEqual(errors, []);
  // with a position it does not fit any longer
  for (const { id } of made[0].headers) made[0].say({ t: 'ok', id, e: 'e', o: 0 });
  made[0].say({ t: 'gap', c: 'a', e: 'e'.repeat(500), o: 1 });
  made[0].end();
  clock.pass(500);
  await settled();
  made[1].hi();
  t.deepEqual(errors, ['limit']);
  t.deepEqual(
    made[1].headers.map(({ c }) => c),
    ['b'],
  );
});
