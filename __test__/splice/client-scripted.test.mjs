// The splice client over a fake WebSocket that the test controls.
import test from 'ava';

import { connect } from '../support/millrace-splice-client.mjs';

/** All connections of a client, the last one last. */
function scripted() {
  const made = [];
  class Scripted extends EventTarget {
    readyState = 0;
    bufferedAmount = 0;
    sent = [];

    constructor(url, protocols) {
      super();
      made.push(Object.assign(this, { url, protocols }));
    }

    send(message) {
      this.sent.push(message);
    }

    close(code, reason) {
      this.readyState = 2;
      this.closedWith = [code, reason];
    }

    open() {
      this.readyState = 1;
      this.dispatchEvent(new Event('open'));
    }

    lose() {
      this.readyState = 3;
      this.dispatchEvent(Object.assign(new Event('close'), { code: 1006, reason: '', wasClean: false }));
    }

    message(data) {
      this.dispatchEvent(new MessageEvent('message', { data }));
    }

    say(control) {
      this.write(JSON.stringify(control));
    }

    write(text) {
      this.message(new TextEncoder().encode(`..${text}`).fill(0xff, 0, 2).buffer);
    }

    reply(call, index) {
      this.say({ id: call.id, type: 'reply', result: { index } });
    }

    /** The calls so far. */
    get calls() {
      const controls = this.sent.filter((message) => message[0] === 0xff && message[1] === 0xff);
      return controls.map((message) => JSON.parse(new TextDecoder().decode(message.subarray(2))));
    }
  }
  return { made, Scripted };
}

/** A client with one socket that is open, at index 0. */
function oneOpen(options) {
  const { made, Scripted } = scripted();
  const mux = connect('ws://mux', { WebSocket: Scripted, ...options });
  const [ws] = made;
  ws.open();
  const socket = mux.open('ws://target/');
  ws.reply(ws.calls[0], 0);
  return { mux, made, ws, socket };
}

/** Runs `body` with fake timers; it gets their pauses, in order. */
function withTimers(random, body) {
  const { setTimeout, clearTimeout } = globalThis;
  const { random: chance } = Math;
  const timers = [];
  globalThis.setTimeout = (call, pause, ...given) => timers.push({ call: () => call(...given), pause });
  globalThis.clearTimeout = (id) => {
    if (id !== undefined) delete timers[id - 1];
  };
  Math.random = () => random;
  try {
    body(timers);
  } finally {
    Object.assign(globalThis, { setTimeout, clearTimeout });
    Math.random = chance;
  }
}

const pauses = (timers) => timers.map(({ pause }) => pause);

for (const [reconnect, random, expected] of [
  [true, 0, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]],
  [true, 1, [250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000]],
  [{ min: 10, max: 25 }, 0, [10, 20, 25, 25]],
  [{ max: 600 }, 0, [500, 600]],
]) {
  test.serial(`pauses of ${JSON.stringify(reconnect)} double, reduced by a random ${random}`, (t) => {
    withTimers(random, (timers) => {
      const { made, Scripted } = scripted();
      connect('ws://mux', { reconnect, WebSocket: Scripted });
      for (const [attempt] of expected.entries()) {
        made.at(-1).lose();
        timers[attempt].call();
      }
      t.deepEqual(pauses(timers), expected);
      made.at(-1).open();
      made.at(-1).lose();
      t.is(timers.at(-1).pause, expected[0]);
    });
  });
}

test.serial('no further attempt is made once it is closed', (t) => {
  withTimers(0, (timers) => {
    const { made, Scripted } = scripted();
    const mux = connect('ws://mux', { reconnect: true, WebSocket: Scripted });
    made[0].lose();
    t.is(mux.readyState, 0);
    mux.close();
    t.is(mux.readyState, 3);
    for (const timer of timers) timer?.call();
    t.is(made.length, 1);
  });
});

test('waiting bytes are counted per socket, and released in order', (t) => {
  const { mux, ws, socket } = oneOpen();
  const other = mux.open('ws://target/');
  ws.reply(ws.calls[1], 1);
  const amounts = () => [socket.bufferedAmount, other.bufferedAmount];
  socket.send('gone at once');
  t.deepEqual(amounts(), [0, 0]);
  ws.bufferedAmount = 102;
  socket.send('x'.repeat(100));
  ws.bufferedAmount += 52;
  other.send(new Uint8Array(50));
  ws.bufferedAmount += 12;
  socket.send(new Blob(['caf\u{e9} and 67'])); // 12 bytes
  ws.bufferedAmount += 2;
  t.deepEqual(amounts(), [112, 50]);
  ws.bufferedAmount -= 101;
  t.deepEqual(amounts(), [112, 50], 'a message that has left in part');
  ws.bufferedAmount -= 1;
  t.deepEqual(amounts(), [12, 50]);
  ws.bufferedAmount = 14;
  t.deepEqual(amounts(), [12, 0]);
  ws.bufferedAmount = 0;
  t.deepEqual(amounts(), [0, 0]);
});

test('input that is not a message of a multiplexer does nothing', async (t) => {
  const { mux, ws, socket } = oneOpen();
  const events = [];
  for (const type of ['message', 'error', 'close']) socket.addEventListener(type, () => events.push(type));
  for (const message of [
    '',
    'a',
    '\0\u{7}text',
    new ArrayBuffer(0),
    new ArrayBuffer(1),
    Uint8Array.of(1, 1, 1).buffer,
  ]) {
    ws.message(message);
  }
  // what throws in a listener is an uncaught exception
  for (const text of [
    '',
    '{',
    'null',
    '7',
    '[]',
    '{}',
    '{"type":"reply"}',
    '{"method":"onSocketClosed","params":null}',
  ]) {
    ws.write(text);
  }
  ws.say({ id: 99, type: 'reply', result: { index: 7 } });
  ws.say({ id: 0, type: 'method', method: 'onSocketOpened', params: { index: 0 } });
  ws.say({ id: 0, type: 'method', method: 'onSocketClosed', params: { index: 5, code: 1000, reason: '' } });
  // messages that arrived together with the opening are dispatched in a later turn
  await new Promise((resolve) => setTimeout(resolve));
  t.deepEqual([events, socket.readyState, mux.readyState], [[], 1, 1]);
});

test('a reply counts once', (t) => {
  const { ws, socket } = oneOpen();
  let opened = 0;
  socket.onopen = () => {
    opened += 1;
  };
  ws.reply(ws.calls[0], 3);
  t.deepEqual([opened, ws.calls.length], [0, 1]);
});

test('a socket that was closed before the reply fails once, and its target is closed', async (t) => {
  const { made, Scripted } = scripted();
  const mux = connect('ws://mux', { WebSocket: Scripted });
  const [ws] = made;
  ws.open();
  const socket = mux.open('ws://target/');
  const events = [];
  for (const type of ['open', 'error', 'close']) socket.addEventListener(type, () => events.push(type));
  socket.close();
  ws.reply(ws.calls[0], 4);
  t.deepEqual(events, [], 'it fails in a turn of its own');
  await new Promise((resolve) => socket.addEventListener('close', resolve));
  t.deepEqual(events, ['error', 'close']);
  const { method, params } = ws.calls[1];
  t.deepEqual([method, params], ['terminate', { index: 4 }]);
});

test('messages and the end that arrive together with the opening are dispatched after it', async (t) => {
  const { mux, ws } = oneOpen();
  const first = mux.open('ws://target/');
  const [, call] = ws.calls;
  const events = [];
  const opened = new Promise((resolve) => first.addEventListener('open', resolve));
  ws.reply(call, 1);
  ws.message('\0\u{1}early');
  ws.say({ id: 0, type: 'method', method: 'onSocketDisconnect', params: { index: 1, code: 1000, reason: 'x' } });
  const second = mux.open('ws://target/');
  ws.reply(ws.calls[2], 1);
  ws.message('\0\u{1}for the second');
  await opened;
  for (const [name, socket] of Object.entries({ first, second })) {
    for (const type of ['message', 'close'])
      socket.addEventListener(type, ({ data }) => events.push([name, data ?? type]));
  }
  await new Promise((resolve) => second.addEventListener('message', resolve));
  t.deepEqual(events, [
    ['first', 'early'],
    ['first', 'close'],
    ['second', 'for the second'],
  ]);
  ws.message('\0\u{1}more');
  t.deepEqual(events.at(-1), ['second', 'more']);
});

test('a connection that is lost before the reply fails the socket', (t) => {
  const { made, Scripted } = scripted();
  const mux = connect('ws://mux', { WebSocket: Scripted });
  made[0].open();
  const socket = mux.open('ws://target/');
  const events = [];
  for (const type of ['open', 'error', 'close', 'reconnecting']) socket.addEventListener(type, () => events.push(type));
  made[0].lose();
  t.deepEqual([events, socket.readyState], [['error', 'close'], 3]);
});
