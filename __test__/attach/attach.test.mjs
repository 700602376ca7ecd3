// WebSockets on the port of a server of node:http, with an app of Express, in worker threads and on the calling thread.
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';

import test from 'ava';
import WebSocket from 'ws';

import { until, within } from '../support/deadline.mjs';
import { frame, TEXT } from '../support/frames.mjs';
import { connectOptions, handshake, handshakeBytes } from '../support/http.mjs';
import { linuxTests, only } from '../support/platforms.mjs';
import { ownServer, RUNTIME } from '../support/server.mjs';
import { connect } from '../support/ws-client.mjs';

const isPossible = RUNTIME === 'node' && process.platform !== 'win32';
const inNode = only(test, isPossible, 'only sockets of Node.js on Unix can be attached');
const page = async (address) => (await fetch(`http://${address}/`)).text();

/** A server process with an HTTP server. `run` calls the functions of support/scripts/attached.mjs. */
async function attached(t, options, where) {
  const server = await ownServer(t);
  const run = (...given) => server.run('attached', ...given);
  const { address, addresses } = await run('start', 'main', options, where);
  t.deepEqual(addresses, []);
  t.teardown(() => run('close', 'main').then(() => run('stop', 'main')));
  return { server, run, address };
}

for (const threads of [0, 2]) {
  inNode(`clients of ws talk to attached sockets while Express answers requests (threads: ${threads})`, async (t) => {
    const { address, run } = await attached(t, { module: 'echo', threads, websocketPath: '/ws' });
    const client = new WebSocket(`ws://${address}/ws`);
    const echoed = [];
    client.on('message', (data) => echoed.push(String(data)));
    await within(new Promise((resolve) => client.once('open', resolve)), 'the handshake');
    client.send('hello');
    client.send(Buffer.alloc(100_000, 'x'));
    await until(() => echoed.length === 2, 'two echoes');
    t.is(echoed[0], 'hello');
    t.is(echoed[1].length, 100_000);
    t.is(await page(address), 'a page');
    // the connection is no longer one of the HTTP server
    await until(async () => (await run('connections', 'main')) <= 1, 'the HTTP server to let go');
    client.send('still');
    await until(() => echoed.length === 3, 'an echo');
    const closed = within(new Promise((resolve) => client.once('close', resolve)), 'the close');
    client.close(4000);
    t.is(await closed, 4000);
  });
}

inNode('bytes that are sent together with the handshake arrive', async (t) => {
  const { address } = await attached(t, { module: 'echo', threads: 1 });
  const after = Buffer.concat(['one', 'two', 'x'.repeat(300)].map((payload) => frame({ opcode: TEXT, payload })));
  const client = await connect(t, address, { after });
  t.deepEqual([await client.text(), await client.text()], ['one', 'two']);
  t.is((await client.text()).length, 300);
  client.send('later');
  t.is(await client.text(), 'later');
});

inNode('a handshake behind an answer that is still being sent waits for it', async (t) => {
  const { address } = await attached(t, { module: 'echo', threads: 1 });
  const socket = net.connect(connectOptions(address));
  t.teardown(() => socket.destroy());
  let received = 0;
  let last = '';
  socket.pause();
  socket.on('data', (data) => {
    received += data.length;
    last = (last + data.toString('latin1')).slice(-2000);
  });
  socket.write('GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await new Promise((resolve) => setTimeout(resolve, 200));
  socket.write(Buffer.concat([handshakeBytes({ path: '/' }), frame({ opcode: TEXT, payload: 'early' })]));
  socket.resume();
  await until(() => last.includes('HTTP/1.1 101'), 'the answer to the handshake');
  t.true(received > 4 * 1024 * 1024, 'the first answer came before');
  await until(() => last.endsWith('early'), 'the echo');
});

/** A connection that sends bytes, and the text that it receives. */
function raw(t, address, bytes) {
  const socket = net.connect(connectOptions(address));
  t.teardown(() => socket.destroy());
  const connection = { text: '', isOver: false };
  socket.on('data', (data) => {
    connection.text += data.toString('latin1');
  });
  socket.on('close', () => {
    connection.isOver = true;
  });
  socket.write(bytes);
  return connection;
}

const get = (path) => Buffer.from(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
const early = () => Buffer.concat([handshakeBytes({ path: '/' }), frame({ opcode: TEXT, payload: 'early' })]);

inNode('a handshake behind requests that are not answered yet waits for their answers', async (t) => {
  const { address, run } = await attached(t, { module: 'echo', threads: 1 });
  const connection = raw(t, address, Buffer.concat([get('/later'), get('/later'), early()]));
  await until(async () => (await run('unanswered')) === 2, 'two requests');
  await run('answer', 'second');
  await run('answer', 'first');
  await until(() => connection.text.endsWith('early'), 'the echo');
  t.regex(connection.text, /^HTTP\/1\.1 200 .*first.*HTTP\/1\.1 200 .*second.*HTTP\/1\.1 101 .*early$/s);
});

inNode('an answer that is piped goes on in front of a handshake', async (t) => {
  const { address } = await attached(t, { module: 'echo', threads: 1 });
  const connection = raw(t, address, Buffer.concat([get('/piped'), early()]));
  await until(() => connection.text.endsWith('early'), 'the echo');
  const [answer] = connection.text.split('HTTP/1.1 101');
  t.true(answer.length > 100 * 64 * 1024, `${answer.length} characters`);
});

inNode('a handshake waits for an answer as long as handshakes may take', async (t) => {
  const limits = { handshakeTimeoutMs: 300 };
  const { address, run } = await attached(t, { module: 'echo', threads: 1, limits });
  const connection = raw(t, address, Buffer.concat([get('/later'), early()]));
  await until(() => connection.isOver, 'the end of the connection');
  t.is(connection.text, '');
  await run('answer', 'too late');
  t.is(await page(address), 'a page');
});

inNode('the request is judged as on a listener of Millrace, and a refusal ends the connection', async (t) => {
  const { address } = await attached(t, { module: 'echo', threads: 1, origins: ['https://good.example'] });
  const refused = await handshake(address, { headers: { Origin: 'https://bad.example' } });
  t.is(refused.status, 403);
  t.is(refused.headers.connection, 'close');
  const welcome = await handshake(address, { headers: { Origin: 'https://good.example' } });
  t.is(welcome.status, 101);
  const old = await handshake(address, {
    headers: { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '8', 'Sec-WebSocket-Key': 'x' },
  });
  t.true(old.status >= 400, String(old.status));
});

inNode('handleOpen gets address, path, headers in lower case and protocols', async (t) => {
  const { address } = await attached(t, { module: 'crossws', threads: 1 });
  const client = await connect(t, address, {
    path: '/a%20b?open=quiet&c=d',
    headers: { 'X-Test': 'More', Cookie: 'a=1' },
    protocols: ['supported'],
  });
  t.is(client.headers['sec-websocket-protocol'], 'supported');
  await client.text();
  client.send('describe');
  const peer = await client.json();
  t.is(peer.remoteAddress, '127.0.0.1');
  t.regex(peer.request.url, /\/a%20b\?open=quiet&c=d$/);
  t.is(peer.request.headers['x-test'], 'More');
  t.is(peer.request.headers.cookie, 'a=1');
});

inNode('limits hold: messages, and connections per address', async (t) => {
  const limits = { messageBytes: 1000, connectionsPerAddress: 2 };
  const { address } = await attached(t, { module: 'echo', threads: 1, limits });
  const one = await connect(t, address);
  await connect(t, address);
  t.is((await handshake(address)).status, 503);
  one.send('x'.repeat(1001));
  await until(() => one.closeFrame, 'a close frame');
  t.is(one.closeFrame.code, 1009);
});

inNode('other paths stay with other listeners, and a path that nobody takes gets 404', async (t) => {
  const { address, run } = await attached(t, { module: 'echo', threads: 1, websocketPath: ['/ws', '/also'] });
  t.is((await handshake(address, { path: '/other' })).status, 404);
  t.is((await handshake(address, { headers: { Connection: 'Upgrade', Upgrade: 'h2c' } })).status, 400);
  await run('ws', 'main', '/other');
  const other = await connect(t, address, { path: '/other' });
  other.send('hello');
  t.is(await other.text(), 'ws hello');
  const own = await connect(t, address, { path: '/also?a=b' });
  own.send('hello');
  t.is(await own.text(), 'hello');
});

inNode('a server may have several attachments, of which each ends on its own', async (t) => {
  const { address, run } = await attached(t, { module: 'echo', threads: 1, websocketPath: '/one' });
  await run('attach', 'main', 'second', { websocketPath: '/two' });
  const [one, two] = [await connect(t, address, { path: '/one' }), await connect(t, address, { path: '/two' })];
  await run('stop', 'second');
  await until(() => two.closeFrame, 'a close frame');
  t.is(two.closeFrame.code, 1001);
  one.send('here');
  t.is(await one.text(), 'here');
  t.is((await handshake(address, { path: '/two' })).status, 404);
  t.is(await run('listeners', 'main'), 1);
});

inNode('stop ends the sockets and not the HTTP server', async (t) => {
  const { address, run } = await attached(t, { module: 'echo', threads: 1 });
  const client = await connect(t, address);
  await run('stop', 'main');
  t.is((await client.closed()).code, 1001);
  t.is(await run('listeners', 'main'), 0);
  t.is(await page(address), 'a page');
});

inNode('a stop that is spread takes handshakes until the time is over', async (t) => {
  const { address, run } = await attached(t, { module: 'echo', threads: 1 });
  const stopped = run('stop', 'main', { spread: 600_000 });
  t.is(await run('listeners', 'main'), 1);
  const client = await connect(t, address);
  client.send('hello');
  t.is(await client.text(), 'hello');
  await run('stop', 'main', { spread: 0 });
  await stopped;
  t.is((await client.closed()).code, 1012);
  t.is(await run('listeners', 'main'), 0);
});

inNode('a server on a unix socket has attached sockets, too', async (t) => {
  const file = path.join(os.tmpdir(), `millrace-attach-${process.pid}.sock`);
  const { address } = await attached(t, { module: 'echo', threads: 1 }, { path: file });
  const client = await connect(t, address);
  client.send('hello');
  t.is(await client.text(), 'hello');
});

(isPossible ? linuxTests(test) : inNode)('thousands of attached connections leave no descriptor behind', async (t) => {
  const { address, run, server } = await attached(t, { module: 'echo', threads: 1 });
  const open = async () => {
    const client = await connect(undefined, address);
    client.send('hello');
    if ((await client.text()) !== 'hello') throw new Error('no echo');
    client.destroy();
  };
  const many = async (count) => {
    for (let done = 0; done < count; done += 50) await Promise.all(Array.from({ length: 50 }, open));
    await until(async () => (await server.call('stats')).connections === 0, 'no connection');
  };
  await many(100);
  const before = await run('descriptors');
  await many(3000);
  const after = await until(async () => {
    const now = await run('descriptors');
    return now <= before + 5 && now;
  }, 'the descriptors to be closed');
  t.true(after <= before + 5, `${before} before, ${after} after`);
  t.is((await server.call('stats')).opened, 3100);
});

inNode('what cannot be attached is an error of the call', async (t) => {
  const server = await ownServer(t);
  for (const [what, reason] of [
    ['https', /speaks TLS/],
    ['http2Secure', /speaks TLS/],
    ['http2', /speaks HTTP\/2/],
  ]) {
    const failed = await server.run('attached', 'failing', what);
    t.is(failed.code, 'ERR_MILLRACE_CANNOT_ATTACH', what);
    t.regex(failed.message, reason);
  }
  t.like(await server.run('attached', 'failing', 'object'), {
    name: 'TypeError',
    message: "argument 'server' must be a server of node:http, not {}",
  });
  const wrong = { bind: '127.0.0.1:0', static: '/tmp', handlers: {} };
  await t.throwsAsync(server.run('attached', 'start', 'wrong', wrong), {
    message: /options\.bind is not available with attach: the HTTP server listens\n.*options\.static is not available/,
  });
});

test('other runtimes have no descriptors of sockets, and say so', async (t) => {
  const server = await ownServer(t);
  const failed = await server.run('attached', 'failing', 'http');
  if (isPossible) t.is(failed, undefined);
  else t.like(failed, { code: 'ERR_MILLRACE_CANNOT_ATTACH' });
});
