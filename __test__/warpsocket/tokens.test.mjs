// specs/warpsocket.md §4.9: tokens. (Tokens that move to another worker are in guarantees.test.mjs.)
import test from 'ava';

import { binary, text } from '../support/frames.mjs';
import { ask, callIn, leave, member, onThreads, sharedServer, worker } from '../support/server.mjs';

const server = sharedServer(test, { workerPath: worker('commands'), threads: 2 });
const tokenOf = async (ws) => {
  const token = await ask(ws, { cmd: 'token' });
  return token === undefined ? undefined : token.toString();
};

test('without a token handlers get undefined', async (t) => {
  t.is(await tokenOf(await member(t, server)), undefined);
});

test('a token set by one message is passed with the next, text and binary', async (t) => {
  const ws = await member(t, server);
  t.is(await callIn(ws, 'setToken', ws.id, 'secret '), undefined);
  t.is(await tokenOf(ws), 'secret ');
  ws.send(Buffer.from('payload'));
  t.is((await ws.next()).data.toString(), 'secret payload');
});

test('a token may be a string, Uint8Array, view or ArrayBuffer', async (t) => {
  const ws = await member(t, server);
  for (const [token, seen] of [
    ['ünï', 'ünï'],
    [Buffer.from('view').subarray(1, 3), 'ie'],
    [Uint8Array.from([65, 66]), 'AB'],
    [Uint8Array.from([67, 68]).buffer, 'CD'],
    ['x'.repeat(100_000), 'x'.repeat(100_000)],
  ]) {
    await server.call('setToken', ws.id, token);
    t.is(await tokenOf(ws), seen);
  }
});

test('an empty token is a token of length 0', async (t) => {
  const ws = await member(t, server);
  await server.call('setToken', ws.id, '');
  t.is(await tokenOf(ws), '');
  ws.send(Buffer.from('b'));
  t.is((await ws.next()).data.toString(), 'b');
});

test('any thread can overwrite a token', async (t) => {
  const [one, two] = await onThreads(t, server, 2);
  for (let round = 0; round < 50; round++) {
    const setter = round % 2 === 0 ? one : two;
    await callIn(setter, 'setToken', one.id, `round ${round}`);
    t.is(await tokenOf(one), `round ${round}`);
  }
  t.is(await tokenOf(two), undefined);
});

test('a token is read when the handler is called: a pipelined message after the setter gets it', async (t) => {
  for (let round = 0; round < 20; round++) {
    const ws = await member(t, server);
    const set = JSON.stringify({ cmd: 'call', n: 9_000_001, fn: 'setToken', args: [ws.id, `token ${round} `] });
    await ws.raw(Buffer.concat([text(set), binary('next'), binary('after')]));
    t.is(JSON.parse(await ws.text()).re, 9_000_001);
    t.is((await ws.next()).data.toString(), `token ${round} next`);
    t.is((await ws.next()).data.toString(), `token ${round} after`);
  }
});

test('many sockets have their own tokens, set in any order', async (t) => {
  const clients = await Promise.all(Array.from({ length: 60 }, () => member(t, server)));
  await Promise.all(clients.map((ws) => server.call('setToken', ws.id, `mine ${ws.id}`)));
  for (const ws of clients) t.is(await tokenOf(ws), `mine ${ws.id}`);
  // Ids whose cached generations share a word must not get each other's tokens.
  await server.call('setToken', clients[0].id, 'changed');
  t.is(await tokenOf(clients[0]), 'changed');
  for (const ws of clients.slice(1)) t.is(await tokenOf(ws), `mine ${ws.id}`);
});

test('a token of 1 MiB is accepted, a longer one is a TypeError and changes nothing', async (t) => {
  const ws = await member(t, server);
  const longest = 'x'.repeat(2 ** 20);
  t.is(await server.call('setToken', ws.id, longest), undefined);
  await t.throwsAsync(server.call('setToken', ws.id, `${longest}y`), { name: 'TypeError', message: /token.*1048576/ });
  t.is((await tokenOf(ws)).length, longest.length);
});

test('an unknown id throws Socket not found', async (t) => {
  await t.throwsAsync(server.call('setToken', 123_456_789, 'x'), { message: /Socket not found/ });
});

test('a virtual socket has no token: Socket not found', async (t) => {
  const ws = await member(t, server);
  const virtual = await server.call('createVirtualSocket', ws.id);
  await t.throwsAsync(server.call('setToken', virtual, 'x'), { message: /Socket not found/ });
});

test('a closed socket has no token: Socket not found', async (t) => {
  const ws = await member(t, server);
  await leave(ws, server);
  await t.throwsAsync(server.call('setToken', ws.id, 'x'), { message: /Socket not found/ });
});

test('handleClose gets the token', async (t) => {
  const [watcher, ws, plain] = await Promise.all([member(t, server), member(t, server), member(t, server)]);
  await server.call('subscribe', watcher.id, 'log');
  await callIn(ws, 'setToken', ws.id, 'goodbye');
  ws.close(4005, 'why');
  plain.close(4006);
  const closes = new Map();
  while (closes.size < 2) {
    const entry = await watcher.json();
    if (entry.event === 'close' && [ws.id, plain.id].includes(entry.socketId)) closes.set(entry.socketId, entry);
  }
  t.like(closes.get(ws.id), { token: 'goodbye', code: 4005, reason: 'why' });
  t.like(closes.get(plain.id), { token: null, code: 4006 });
});

// Beyond the specification, other values may be tokens, too: tokens.test.mjs.
for (const bad of [undefined, () => {}, Symbol('s')]) {
  test(`an invalid token: ${String(bad)} (${typeof bad})`, async (t) => {
    const ws = await member(t, server);
    await t.throwsAsync(server.call('setToken', ws.id, bad), { name: 'TypeError', message: /token/ });
    t.is(await tokenOf(ws), undefined);
  });
}
