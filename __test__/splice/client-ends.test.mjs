// How sockets of the splice client end.
import { once } from 'node:events';
import test from 'ava';

import { until, within } from '../support/deadline.mjs';
import { client, each, next, opened, throwsNamed, told } from '../support/splice-client.mjs';
import { echo, multiplexer } from '../support/splice-multiplexer.mjs';

test('sockets end uncleanly with a multiplexer that closes by itself', async (t) => {
  const target = await echo(t);
  const splice = await multiplexer(t);
  const mux = client(t, splice);
  const socket = await opened(mux, target.url);
  const events = told(socket);
  const ends = [mux, socket].map((one) => next(one, 'close'));
  for (const one of splice.clients) one.close(1001, 'restart');
  const [{ code, reason, wasClean }] = await Promise.all(ends);
  t.deepEqual([code, reason, wasClean], [1001, 'restart', true]);
  t.deepEqual(events, [['close', 1006, '', false]]);
});

each('the close event has the code and reason of the target', async (t, multiplexer) => {
  const target = await echo(t);
  for (const closedName of ['onSocketDisconnect', 'onSocketClosed']) {
    const mux = client(t, await multiplexer({ closedName }));
    const socket = await opened(mux, target.url);
    const events = told(socket);
    for (const one of target.clients) one.close(4123, 'caf\u{e9}');
    await next(socket, 'close');
    t.deepEqual(events, [['close', 4123, 'caf\u{e9}', true]]);
    t.is(socket.readyState, 3);
    socket.close();
    socket.send('nobody is there');
    t.is(socket.bufferedAmount, 15);
    socket.send(new Uint8Array(5));
    socket.send(new Blob(['abc']));
    t.is(socket.bufferedAmount, 23);
  }
});

each('a lost target is not a clean close', async (t, multiplexer) => {
  const target = await echo(t);
  const mux = client(t, await multiplexer());
  const socket = await opened(mux, target.url);
  const events = told(socket);
  for (const one of target.clients) one.terminate();
  await next(socket, 'close');
  t.deepEqual(events, [['close', 1006, '', false]]);
});

each('close gives the target code and reason', async (t, multiplexer) => {
  const target = await echo(t);
  const mux = client(t, await multiplexer());
  for (const [given, code, reason] of [
    [[], 1000, ''],
    [[3001], 3001, ''],
    [[4999, 'caf\u{e9}'], 4999, 'caf\u{e9}'],
    [[undefined, 'why'], 1000, 'why'],
  ]) {
    const socket = await opened(mux, target.url);
    const events = told(socket);
    const [there] = target.clients;
    const closed = within(once(there, 'close'), 'the end at the target');
    socket.close(...given);
    t.is(socket.readyState, 2);
    socket.close(4000, 'not any more');
    const [seen, bytes] = await closed;
    t.deepEqual([seen, String(bytes)], [code, reason]);
    if (socket.readyState !== 3) await next(socket, 'close');
    t.deepEqual(events, [['close', code, reason, true]]);
  }
});

test('close refuses codes and reasons that a WebSocket refuses', async (t) => {
  const target = await echo(t);
  const mux = client(t, await multiplexer(t));
  const socket = await opened(mux, target.url);
  for (const code of [0, 999, 1001, 1005, 2999, 5000, 65_535]) {
    throwsNamed(t, () => socket.close(code), 'InvalidAccessError');
    throwsNamed(t, () => mux.close(code), 'InvalidAccessError');
  }
  for (const reason of ['x'.repeat(124), '\u{e9}'.repeat(62)]) {
    throwsNamed(t, () => socket.close(1000, reason), 'SyntaxError');
    throwsNamed(t, () => mux.close(1000, reason), 'SyntaxError');
  }
  t.deepEqual([socket.readyState, mux.readyState], [1, 1]);
});

each('messages are ignored once close was called', async (t, multiplexer) => {
  const target = await echo(t);
  const socket = await opened(client(t, await multiplexer()), target.url);
  const events = told(socket);
  socket.send('its echo comes too late');
  socket.close();
  await next(socket, 'close');
  t.deepEqual(events, [['close', 1000, '', true]]);
});

each('a target that cannot be reached is an error and a close', async (t, multiplexer) => {
  const mux = client(t, await multiplexer());
  const socket = mux.open('ws://127.0.0.1:1');
  const events = told(socket);
  await next(socket, 'close');
  t.deepEqual(events, [
    ['error', 4007, true],
    ['close', 1006, '', false],
  ]);
  t.is(socket.readyState, 3);
});

each('closing before it is open is a failure, and leaves nothing at the target', async (t, multiplexer) => {
  const target = await echo(t);
  const mux = client(t, await multiplexer());
  await next(mux, 'open');
  const socket = mux.open(target.url);
  const events = told(socket);
  socket.close();
  t.is(socket.readyState, 2);
  await next(socket, 'close');
  t.deepEqual(events, [
    ['error', undefined, false],
    ['close', 1006, '', false],
  ]);
  const other = await opened(mux, target.url);
  await until(() => target.clients.size === 1, 'the end of the first');
  other.send('a');
  t.is((await next(other, 'message')).data, 'a');
  t.is(events.length, 2);
});

each('a lost multiplexer closes all sockets', async (t, multiplexer) => {
  const target = await echo(t);
  const splice = await multiplexer();
  const mux = client(t, splice);
  const sockets = [await opened(mux, target.url), await opened(mux, target.url)];
  const events = sockets.map(told);
  const ends = [mux, ...sockets].map((one) => next(one, 'close'));
  splice.lose();
  const [{ code, wasClean }] = await Promise.all(ends);
  t.deepEqual([code, wasClean, mux.readyState], [1006, false, 3]);
  t.deepEqual(events, [[['close', 1006, '', false]], [['close', 1006, '', false]]]);
  const late = mux.open(target.url);
  const failure = told(late);
  await next(late, 'close');
  t.deepEqual(failure, [
    ['error', undefined, false],
    ['close', 1006, '', false],
  ]);
});

each('closing the multiplexer closes its targets with the same code and reason', async (t, multiplexer) => {
  const target = await echo(t);
  const mux = client(t, await multiplexer());
  const socket = await opened(mux, target.url);
  const events = told(socket);
  const [there] = target.clients;
  const closed = within(once(there, 'close'), 'the end at the target');
  const over = next(mux, 'close');
  mux.close(4321, 'enough');
  t.deepEqual([socket.readyState, mux.readyState], [2, 2]);
  const [code, reason] = await closed;
  t.deepEqual([code, String(reason)], [4321, 'enough']);
  if (socket.readyState !== 3) await next(socket, 'close');
  // a server need not repeat the reason
  t.deepEqual(events, [['close', 4321, (await over).reason, true]]);
});

test('a socket that is not open yet fails when the multiplexer is closed', async (t) => {
  const target = await echo(t);
  const mux = client(t, await multiplexer(t));
  await next(mux, 'open');
  const socket = mux.open(target.url);
  const events = told(socket);
  const over = next(mux, 'close');
  mux.close();
  t.is(socket.readyState, 2);
  await next(socket, 'close');
  await over;
  t.deepEqual(events, [
    ['error', undefined, false],
    ['close', 1006, '', false],
  ]);
});
