// Clients of `millrace.v1` and channels with history: numbers, what was missed, and keys.
import test from 'ava';

import { sharedServer, worker } from '../support/server.mjs';
import { speak } from '../support/v1.mjs';

const channels = [
  ['room:*', { history: { messages: 100, ageMs: 60_000 }, clients: { subscribe: true, publish: true } }],
  ['named:*', { history: { messages: 10, ageMs: 60_000 }, clients: { subscribe: true, publish: { from: true } } }],
];
const server = sharedServer(test, { workerPath: worker('no-handlers'), threads: 1, ioThreads: 2, channels });

/** Sends a message and returns the answer, which comes next. */
async function ask(client, header, payload) {
  client.send({ id: 1, ...header }, payload);
  const [{ id, ...answer }] = await client.next();
  return answer;
}

test('a client that comes back gets what it missed, in order and with its numbers', async (t) => {
  const publisher = await speak(t, server);
  const first = await ask(publisher, { t: 'pub', c: 'room:1' }, 'text 1');
  t.deepEqual(first, { t: 'ok', e: first.e, o: 1 });
  for (let index = 2; index <= 50; index++) await ask(publisher, { t: 'pub', c: 'room:1' }, `text ${index}`);
  const client = await speak(t, server);
  const since = { e: first.e, o: 1 };
  t.deepEqual(await ask(client, { t: 'sub', c: 'room:1', since }), { t: 'ok', e: first.e, o: 50, recovered: true });
  await ask(publisher, { t: 'pub', c: 'room:1' }, 'text 51');
  for (let index = 2; index <= 51; index++) {
    const [{ ts, ...header }, payload] = await client.next();
    t.deepEqual([header, payload], [{ c: 'room:1', o: index }, `text ${index}`]);
    t.true(Math.abs(Date.now() - ts) < 60_000);
  }
  t.is((await ask(client, { t: 'sub', c: 'room:1' })).code, 'bad');
  const newcomer = await speak(t, server);
  t.deepEqual(await ask(newcomer, { t: 'sub', c: 'room:1', last: 2 }), { t: 'ok', e: first.e, o: 51, last: 2 });
  t.is((await newcomer.next())[1], 'text 50');
  t.is((await newcomer.next())[1], 'text 51');
  const lost = await speak(t, server);
  const gone = { e: 'another', o: 1 };
  t.false((await ask(lost, { t: 'sub', c: 'room:1', since: gone })).recovered);
});

test('a key publishes once, and what is recovered names its publisher', async (t) => {
  const publisher = await speak(t, server);
  const message = { t: 'pub', c: 'named:1', key: 'one' };
  const first = await ask(publisher, message, 'x');
  t.deepEqual(await ask(publisher, message, 'x'), first);
  const client = await speak(t, server);
  await ask(client, { t: 'sub', c: 'named:1', last: 10 });
  const [{ ts, ...header }, payload] = await client.next();
  t.deepEqual([header, payload], [{ c: 'named:1', o: 1, f: publisher.hi.s }, 'x']);
  await ask(publisher, { t: 'pub', c: 'named:1' }, 'y');
  const [live] = await client.next();
  t.is(live.f, publisher.hi.s);
  t.is(live.o, 2);
});
