// The splice client when it loses its connection and reconnects.
import test from 'ava';
import { until } from '../support/deadline.mjs';
import { connect } from '../support/millrace-splice-client.mjs';
import { client, each, next, opened, throwsNamed, told } from '../support/splice-client.mjs';
import { echo, multiplexer } from '../support/splice-multiplexer.mjs';

each('with reconnect, open sockets are reopened', async (t, multiplexer) => {
  const target = await echo(t);
  const splice = await multiplexer();
  const mux = client(t, splice, { reconnect: { min: 1, max: 20 } });
  const states = [];
  for (const type of ['open', 'close']) mux.addEventListener(type, () => states.push([type, mux.readyState]));
  const options = { protocols: ['a', 'b'], headers: { 'X-Name': 'me' } };
  const socket = mux.open(`${target.url}/hello`, options);
  const events = told(socket);
  const other = await opened(mux, target.url);
  const closing = await opened(mux, target.url);
  await until(() => events.includes('again me'), 'the greeting');
  for (let round = 1; round <= 3; round += 1) {
    const reconnecting = next(other, 'reconnecting');
    if (round === 2) closing.close();
    splice.lose();
    await reconnecting;
    t.is(other.readyState, 0);
    throwsNamed(t, () => other.send('lost'), 'InvalidStateError');
    await next(other, 'open');
    await until(() => events.filter((event) => event === 'again me').length === round + 1, 'the greeting again');
    other.send(`round ${round}`);
    t.is((await next(other, 'message')).data, `round ${round}`);
  }
  t.deepEqual(events, [
    ...['open', 'hello me', 'again me'],
    ...['reconnecting', 'open', 'hello me', 'again me'],
    ...['reconnecting', 'open', 'hello me', 'again me'],
    ...['reconnecting', 'open', 'hello me', 'again me'],
  ]);
  t.is(socket.protocol, 'b');
  t.is(closing.readyState, 3);
  await until(() => target.clients.size === 2, 'the end of the targets of the lost session');
  t.deepEqual(states.slice(0, 3), [
    ['open', 1],
    ['close', 0],
    ['open', 1],
  ]);
});

each('with reconnect, a target that is gone meanwhile is closed', async (t, multiplexer) => {
  const target = await echo(t);
  const splice = await multiplexer();
  const mux = client(t, splice, { reconnect: { min: 1, max: 20 } });
  const socket = await opened(mux, target.url);
  const events = told(socket);
  const closed = next(socket, 'close');
  target.stop();
  splice.lose();
  await closed;
  t.deepEqual(events, ['reconnecting', ['error', 4007, true], ['close', 1006, '', false]]);
});

test('reconnecting waits for a multiplexer that is not running yet, and close ends it', async (t) => {
  const splice = await multiplexer(t);
  const mux = client(t, { url: 'ws://127.0.0.1:1' }, { reconnect: { min: 1, max: 5 } });
  const socket = mux.open(splice.url);
  const events = told(socket);
  for (let attempt = 0; attempt < 5; attempt += 1) await next(mux, 'close');
  t.deepEqual([mux.readyState, socket.readyState, events], [0, 0, []]);
  mux.close();
  await next(socket, 'close');
  t.deepEqual([mux.readyState, socket.readyState], [3, 3]);
  t.deepEqual(events, [
    ['error', undefined, false],
    ['close', 1006, '', false],
  ]);
});

test('a close with the reason retry=<ms> says when to reconnect', async (t) => {
  const target = await echo(t);
  const splice = await multiplexer(t);
  for (const [reconnect, least] of [
    [{ min: 1, max: 2 }, 700],
    // much longer than this test waits
    [{ min: 1e7, max: 1e7 }, 0],
  ]) {
    const mux = client(t, splice, { reconnect });
    const socket = await opened(mux, target.url);
    const reasons = [];
    mux.addEventListener('close', ({ reason }) => reasons.push(reason));
    const again = next(socket, 'open');
    // not from the loss on: timers count from when the event loop woke up, which a busy machine may do much earlier
    const from = performance.now();
    for (const one of splice.clients) one.close(1012, `retry=${least}`);
    await again;
    const waited = performance.now() - from;
    t.true(waited >= least - 5, `${waited}`);
    // else the multiplexer would close it with the next ones
    const closed = Promise.all([next(socket, 'close'), next(mux, 'close')]);
    mux.close(1000, `retry=${least}`);
    await closed;
    t.deepEqual(reasons, [`retry=${least}`, `retry=${least}`]);
  }
  // other reasons say nothing
  const mux = client(t, splice, { reconnect: { min: 1, max: 2 } });
  const socket = await opened(mux, target.url);
  for (const reason of ['retry=', 'retry=-1', 'retry=1e9', ' retry=99999999', 'retry=9999999999']) {
    for (const one of splice.clients) one.close(1012, reason);
    await next(socket, 'open');
  }
  t.is(socket.readyState, 1);
});

test.serial('a multiplexer asks for ten minutes at most', async (t) => {
  /** A connection that is closed at once. */
  class Closing extends EventTarget {
    readyState = 0;

    constructor() {
      super();
      const close = Object.assign(new Event('close'), { code: 1012, reason: 'retry=999999999', wasClean: true });
      setImmediate(() => {
        this.readyState = 3;
        this.dispatchEvent(close);
      });
    }

    close() {}
  }
  const { setTimeout } = globalThis;
  const pauses = [];
  globalThis.setTimeout = (act, ms, ...given) => {
    pauses.push(ms);
    return setTimeout(act, ms, ...given);
  };
  try {
    const mux = connect('ws://127.0.0.1:1/', { WebSocket: Closing, reconnect: true });
    await next(mux, 'close');
    t.true(pauses.includes(600_000), `${pauses}`);
    t.false(pauses.includes(999_999_999));
    mux.close();
    t.is(mux.readyState, 3);
  } finally {
    globalThis.setTimeout = setTimeout;
  }
});
