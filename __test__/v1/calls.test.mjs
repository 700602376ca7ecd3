// Calls of clients of `millrace.v1`, and what `handleCall` answers.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { ownServer, sharedServer, worker } from '../support/server.mjs';
import { speak } from '../support/v1.mjs';

const channels = [['room:*', { clients: { subscribe: true, publish: true } }]];
const options = { workerPath: worker('v1-handlers'), threads: 1, ioThreads: 2, channels };
const server = sharedServer(test, options);

/** Calls a method; resolves with the whole answer, which has to be the next message. */
async function call(client, m, params, id = 'c') {
  client.send({ t: 'call', id, m }, params);
  return client.next();
}

/** Answers what a handler of this name waits for with a value. */
async function release(t, releaser, name, value) {
  const isThere = async () => (await call(releaser, 'release', JSON.stringify({ name, value })))[1] === 'true';
  await until(isThere, `${name} to be held`);
  t.pass();
}

test('text and bytes come back as they are, other values as JSON, and nothing for undefined', async (t) => {
  const client = await speak(t, server, { headers: { 'x-user': 'ann' } });
  const ok = { t: 'ok', id: 'c' };
  for (const payload of ['text', '', 'é\n\u{1f980}', '"json"', Buffer.from([0xff, 10, 0]), Buffer.alloc(0)]) {
    t.deepEqual(await call(client, 'echo', payload), [ok, payload]);
  }
  for (const payload of ['x'.repeat(200_000), Buffer.alloc(100_000, 7)]) {
    t.deepEqual(await call(client, 'echo', payload), [ok, payload]);
  }
  t.deepEqual(await call(client, 'echo'), [ok, '']);
  t.deepEqual(await call(client, 'parsed', '{"id":7}'), [ok, '{"got":{"id":7}}']);
  t.deepEqual(await call(client, 'nothing'), [ok]);
  t.deepEqual(await call(client, 'null'), [ok, 'null']);
  t.deepEqual(await call(client, 'number'), [ok, '7']);
  t.deepEqual(await call(client, 'view'), [ok, Buffer.from([2, 3])]);
  t.deepEqual(await call(client, 'buffer'), [ok, Buffer.from([5, 6])]);
  t.deepEqual(await call(client, 'shared'), [ok, Buffer.alloc(2)]);
  t.deepEqual(await call(client, 'sharedBuffer'), [ok, Buffer.alloc(2)]);
  t.deepEqual(await call(client, 'long'), [ok, 'x'.repeat(300_000)]);
  t.deepEqual(await call(client, 'who'), [ok, JSON.stringify([Number(client.hi.s), 'ann'])]);
});

test('what a handler sent before its result comes in front of it', async (t) => {
  const client = await speak(t, server);
  client.send({ t: 'call', id: 1, m: 'say' }, 'one');
  t.deepEqual(await client.next(), [{}, 'before one']);
  t.deepEqual(await client.next(), [{ t: 'ok', id: 1 }, 'result']);
});

test('a CallError has the code that it was given, any other error is failed, and the connection lives', async (t) => {
  const own = await ownServer(t, options);
  const client = await speak(t, own);
  const error = (code, reason) => [{ t: 'err', id: 'c', code, ...(reason !== undefined && { reason }) }];
  t.deepEqual(await call(client, 'code sold_out'), error('sold_out'));
  t.deepEqual(await call(client, 'code sold_out|there is "none"\nleft'), error('sold_out', 'there is "none"\nleft'));
  t.deepEqual(await call(client, `code ${'é'.repeat(32)}|`), error('é'.repeat(32), ''));
  t.deepEqual(await call(client, 'reject code'), error('mine'));
  t.deepEqual(await call(client, 'unknown'), error('not_found'));
  t.deepEqual(await own.errors(), []);
  const failed = error('failed', 'the handler failed');
  // the code is too long
  t.deepEqual(await call(client, `code ${'é'.repeat(32)}x`), failed);
  for (const method of ['throw', 'reject', 'impossible']) t.deepEqual(await call(client, method), failed);
  const all = async () => (await own.errors()).length >= 4 && own.errors();
  const errors = await until(all, 'the reports');
  t.deepEqual(
    errors.map(({ code }) => code),
    Array(4).fill('ERR_MILLRACE_HANDLER_FAILED'),
  );
  t.regex(errors[1].message, /^handleCall failed for socket \d+: .*thrown on request/s);
  t.deepEqual(await call(client, 'echo', 'alive'), [{ t: 'ok', id: 'c' }, 'alive']);
});

test('a pending call holds up nothing, and answers come in any order', async (t) => {
  const client = await speak(t, server);
  const other = await speak(t, server);
  client.send({ t: 'call', id: 'n1', m: 'hold 1' });
  client.send({ t: 'call', id: 'n2', m: 'hold 2' });
  t.deepEqual(await call(client, 'echo', 'at once', 'n3'), [{ t: 'ok', id: 'n3' }, 'at once']);
  await client.subscribe('room:beside');
  // the id is in use
  client.send({ t: 'call', id: 'n1', m: 'echo' });
  t.like(await client.next(), [{ t: 'err', code: 'bad', reason: 'the id is in use' }]);
  client.send({ t: 'sub', id: 'n2', c: 'room:x' });
  t.is((await client.next())[0].code, 'bad');
  client.send({ t: 'sub', id: 'n1', c: 1 });
  t.like(await client.next(), [{ t: 'err', id: undefined, code: 'bad' }]);
  await release(t, other, 'hold 2', 'second');
  t.deepEqual(await client.next(), [{ t: 'ok', id: 'n2' }, 'second']);
  await release(t, other, 'hold 1', 'first');
  t.deepEqual(await client.next(), [{ t: 'ok', id: 'n1' }, 'first']);
  t.deepEqual(await call(client, 'echo', 'free again', 'n1'), [{ t: 'ok', id: 'n1' }, 'free again']);
});

test('callsPerSocket bounds what is unanswered, and unhandledEvents does not', async (t) => {
  const limits = { callsPerSocket: 70, unhandledEvents: 2 };
  const own = await ownServer(t, { ...options, limits });
  const client = await speak(t, own);
  const other = await speak(t, own);
  for (let id = 0; id < 70; id++) client.send({ t: 'call', id: `n${id}`, m: `hold many ${id}` });
  t.deepEqual(await call(client, 'echo', 'x', 'over'), [
    { t: 'err', id: 'over', code: 'limit', reason: 'too many calls are unanswered' },
  ]);
  t.deepEqual(await client.subscribe('room:still'), { t: 'ok' });
  for (let id = 69; id >= 0; id--) {
    await release(t, other, `hold many ${id}`, id);
    t.deepEqual(await client.next(), [{ t: 'ok', id: `n${id}` }, `${id}`]);
  }
  t.deepEqual(await call(client, 'echo', 'x', 'under'), [{ t: 'ok', id: 'under' }, 'x']);
});

test('parameters over unhandledBytes stop the reading until they are handled', async (t) => {
  const own = await ownServer(t, { ...options, limits: { unhandledBytes: 1000 } });
  const client = await speak(t, own);
  const other = await speak(t, own);
  client.send({ t: 'call', id: 1, m: 'hold long' }, 'x'.repeat(2000));
  client.send({ t: 'call', id: 2, m: 'hold next' });
  await until(async () => (await call(other, 'held'))[1] === '["hold long"]', 'the first call');
  await release(t, other, 'hold long', 1);
  t.deepEqual(await client.next(), [{ t: 'ok', id: 1 }, '1']);
  await release(t, other, 'hold next', 2);
  t.deepEqual(await client.next(), [{ t: 'ok', id: 2 }, '2']);
});

test('a handler that takes too long answers timeout, and what it returns later changes nothing', async (t) => {
  const own = await ownServer(t, { ...options, limits: { handlerTimeoutMs: 200 } });
  const client = await speak(t, own);
  t.deepEqual(await call(client, 'hold late'), [
    { t: 'err', id: 'c', code: 'timeout', reason: 'the handler took too long' },
  ]);
  const error = await until(async () => (await own.errors())[0], 'the report, which may come after the answer');
  t.regex(error.message, /^handleCall took too long for socket \d+$/);
  t.deepEqual(await call(client, 'release', '{"name":"hold late","value":"too late"}'), [{ t: 'ok', id: 'c' }, 'true']);
  t.deepEqual(await call(client, 'echo', 'alive'), [{ t: 'ok', id: 'c' }, 'alive']);
});

test('a worker that dies answers what was pending with failed', async (t) => {
  const own = await ownServer(t, options);
  const client = await speak(t, own);
  client.send({ t: 'call', id: 1, m: 'hold for ever' });
  client.send({ t: 'call', id: 2, m: 'exit' });
  for (const id of [1, 2]) {
    t.deepEqual(await client.next(), [{ t: 'err', id, code: 'failed', reason: 'the worker is gone' }]);
  }
  t.is((await client.ended).code, 1011);
});

test('a worker without handleCall has no methods', async (t) => {
  const own = await ownServer(t, { ...options, workerPath: worker('no-handlers') });
  const client = await speak(t, own);
  t.deepEqual(await call(client, 'echo', 'x'), [
    { t: 'err', id: 'c', code: 'not_found', reason: 'there is no such method' },
  ]);
});

test('calls of many clients at once are all answered', async (t) => {
  const own = await ownServer(t, { ...options, limits: { workerQueueEvents: 50, workerQueueBytes: 10_000 } });
  const clients = await Promise.all(Array.from({ length: 20 }, () => speak(t, own)));
  for (const client of clients) {
    for (let id = 0; id < 100; id++) client.send({ t: 'call', id, m: 'echo' }, `${id}`.repeat(20));
  }
  for (const client of clients) {
    for (let id = 0; id < 100; id++) t.deepEqual(await client.next(), [{ t: 'ok', id }, `${id}`.repeat(20)]);
  }
});
