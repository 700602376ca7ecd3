// Redis clients and WebSockets share channels and keys: messages reach both in order, and a password protects the port.
import net from 'node:net';
import test from 'ava';

import { Authority } from '../support/certificates.mjs';
import { until, within } from '../support/deadline.mjs';
import { connectOptions } from '../support/http.mjs';
import { needing } from '../support/needing.mjs';
import { connect, request } from '../support/resp.mjs';
import { ask, forgotten, ownServer, worker } from '../support/server.mjs';
import { connect as connectWs } from '../support/ws-client.mjs';

const HTTP = '127.0.0.1:0';
const listener = (more) => ({ address: '127.0.0.1:0', protocol: 'resp', ...more });
const options = (more, limits) => ({
  workerPath: worker('commands'),
  threads: 1,
  ioThreads: 2,
  bind: [HTTP, listener(more)],
  limits,
});
let identity;
const authority = Authority.of(test, async (made) => {
  identity = await made.issue();
});

/** A server, a Redis client and a WebSocket that is subscribed to `room`. */
async function both(t, more, limits) {
  const server = await ownServer(t, options(more, limits));
  const redis = await connect(t, server.addresses[1]);
  const ws = await connectWs(t, server.addresses[0]);
  const { id } = await ask(ws, { cmd: 'whoami' });
  await ask(ws, { cmd: 'sub', channel: 'room' });
  return { server, redis, ws, id };
}

const message = (channel, text) =>
  `*3\r\n$7\r\nmessage\r\n$${channel.length}\r\n${channel}\r\n$${Buffer.byteLength(text)}\r\n${Buffer.from(text).toString('latin1')}\r\n`;

test('messages of Redis clients reach WebSockets: as text if they are UTF-8, otherwise as binary', async (t) => {
  const { redis, ws } = await both(t);
  for (const text of ['hello', '', 'grüße 🎈']) {
    t.is(await redis.ask('PUBLISH', 'room', text), ':1\r\n');
    t.is(await ws.text(), text);
  }
  t.is(await redis.ask('PUBLISH', 'room', Buffer.from([0xff, 0, 0xc3])), ':1\r\n');
  t.deepEqual(await ws.next(), { kind: 'binary', data: Buffer.from([0xff, 0, 0xc3]) });
  t.is(await redis.ask('PUBLISH', 'other', 'x'), ':0\r\n');
});

test('publishAs sets the kind of messages', async (t) => {
  const binary = await both(t, { publishAs: 'binary' });
  t.is(await binary.redis.ask('PUBLISH', 'room', 'hello'), ':1\r\n');
  t.deepEqual(await binary.ws.next(), { kind: 'binary', data: Buffer.from('hello') });
  const text = await both(t, { publishAs: 'text' });
  t.regex(await text.redis.ask('PUBLISH', 'room', Buffer.from([0xff])), /^-ERR .*UTF-8/);
  t.is(await text.redis.ask('PUBLISH', 'room', 'hello'), ':1\r\n');
  t.is(await text.ws.text(), 'hello');
});

test('messages of JavaScript reach Redis clients, by channel and by pattern, in both versions', async (t) => {
  const { server, redis } = await both(t);
  await redis.ask('SUBSCRIBE', 'room');
  const newer = await connect(t, server.addresses[1]);
  await newer.ask('HELLO', '3');
  t.is(await newer.ask('PSUBSCRIBE', 'r*'), '>3\r\n$10\r\npsubscribe\r\n$2\r\nr*\r\n:1\r\n');
  for (const text of ['hello', '', 'x'.repeat(100_000)]) {
    t.is(await server.call('send', 'room', text), 3);
    t.is(await redis.next(), message('room', text));
    t.is(await newer.next(), `>4\r\n$8\r\npmessage\r\n$2\r\nr*\r\n$4\r\nroom\r\n$${text.length}\r\n${text}\r\n`);
  }
  t.is(await server.call('send', 'room', Buffer.from([0, 255])), 3);
  t.is(await redis.next(), '*3\r\n$7\r\nmessage\r\n$4\r\nroom\r\n$2\r\n\0\xff\r\n');
});

test('Redis clients and JavaScript share keys', async (t) => {
  const { server, redis } = await both(t);
  await redis.ask('SET', 'from redis', 'a');
  t.is(Buffer.from(await server.call('getKey', 'from redis')).toString(), 'a');
  await server.call('setKey', 'from js', 'b');
  t.is(await redis.ask('GET', 'from js'), '$1\r\nb\r\n');
  t.is(await redis.ask('INCR', 'n'), ':1\r\n');
  t.is(Buffer.from(await server.call('getKey', 'n')).toString(), '1');
});

test('an expired key is gone for JavaScript, too, and a scan returns all other keys', async (t) => {
  const { server, redis } = await both(t);
  await redis.ask('SET', 'short', 'x', 'PX', '1');
  await until(async () => (await server.call('getKey', 'short')) === undefined, 'the key to end');
  t.is(await redis.ask('EXISTS', 'short'), ':0\r\n');
  for (let index = 0; index < 100; index++) redis.send('SET', `key ${index}`, 'x');
  await redis.take(100);
  const seen = new Set();
  let cursor = '0';
  do {
    const reply = await redis.ask('SCAN', cursor, 'COUNT', '7');
    const words = reply.split('\r\n').filter((line) => !/^[*$]/.test(line) && line !== '');
    cursor = words.shift();
    for (const key of words) {
      t.false(seen.has(key), key);
      seen.add(key);
    }
  } while (cursor !== '0');
  t.is(seen.size, 100);
});

test('a connection is a socket: listed and counted, and its id works with send, subscribe and close', async (t) => {
  const { server, redis } = await both(t);
  await redis.ask('HELLO', '3');
  const id = Number((await redis.ask('CLIENT', 'ID')).slice(1));
  t.like(await server.call('getDebugState', 'sockets', id), { ip: '127.0.0.1' });
  t.is((await server.call('stats')).sockets, 2);
  t.is(await server.call('send', id, 'to you'), 1);
  t.is(await redis.next(), '>3\r\n$7\r\nmessage\r\n$0\r\n\r\n$6\r\nto you\r\n');
  await server.call('subscribe', id, 'news');
  t.is(await redis.ask('PUBLISH', 'news', 'x'), ':1\r\n');
  t.is(await redis.next(), '>3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$1\r\nx\r\n');
  t.true(await server.call('close', id));
  await redis.over();
  t.is(redis.left, '');
  await forgotten(server, id);
  t.false(await server.call('hasSubscriptions', 'news'));
});

test('many commands in one write are answered in order, an incomplete one when its rest arrives', async (t) => {
  const { redis } = await both(t);
  const commands = Array.from({ length: 5000 }, (_, index) => request('ECHO', String(index)));
  const bytes = Buffer.concat(commands);
  redis.send(bytes.subarray(0, 77_777));
  redis.send(bytes.subarray(77_777));
  const replies = await redis.take(5000);
  t.true(replies.every((reply, index) => reply === `$${String(index).length}\r\n${index}\r\n`));
});

test('a publisher that subscribes gets the message before the reply, and no message after unsubscribing', async (t) => {
  const { redis } = await both(t);
  await redis.ask('HELLO', '3');
  await redis.ask('SUBSCRIBE', 'own');
  const publish = (text) => request('PUBLISH', 'own', text);
  redis.send(Buffer.concat([publish('1'), publish('2'), request('UNSUBSCRIBE', 'own'), publish('3'), request('PING')]));
  t.deepEqual(await redis.take(7), [
    '>3\r\n$7\r\nmessage\r\n$3\r\nown\r\n$1\r\n1\r\n',
    ':1\r\n',
    '>3\r\n$7\r\nmessage\r\n$3\r\nown\r\n$1\r\n2\r\n',
    ':1\r\n',
    '>3\r\n$11\r\nunsubscribe\r\n$3\r\nown\r\n:0\r\n',
    ':0\r\n',
    '+PONG\r\n',
  ]);
});

test('a PING of a subscriber is answered after earlier messages', async (t) => {
  const { server, redis } = await both(t);
  const newer = await connect(t, server.addresses[1]);
  const publisher = await connect(t, server.addresses[1]);
  await newer.ask('HELLO', '3');
  for (const client of [redis, newer]) await client.ask('SUBSCRIBE', 'c');
  for (let round = 0; round < 100; round++) {
    t.is(await publisher.ask('PUBLISH', 'c', String(round)), ':2\r\n');
    for (const client of [redis, newer]) client.send('PING');
    t.is(await redis.next(), message('c', String(round)));
    t.is(await redis.next(), '*2\r\n$4\r\npong\r\n$0\r\n\r\n');
    t.is(await newer.next(), message('c', String(round)).replace('*', '>'));
    t.is(await newer.next(), '+PONG\r\n');
  }
});

test('RESET switches to RESP2 after the pending messages', async (t) => {
  const { server, redis } = await both(t);
  const publisher = await connect(t, server.addresses[1]);
  for (let round = 0; round < 100; round++) {
    await redis.ask('HELLO', '3');
    await redis.ask('SUBSCRIBE', 'c');
    publisher.send(Buffer.concat(Array.from({ length: 10 }, () => request('PUBLISH', 'c', 'x'))));
    redis.send('RESET');
    for (let reply = await redis.next(); reply !== '+RESET\r\n'; reply = await redis.next()) {
      if (!reply.startsWith('>3\r\n')) return t.fail(`round ${round}: ${reply}`);
    }
    await publisher.take(10);
    t.is(await redis.ask('GET', 'nothing'), '$-1\r\n');
  }
});

test('CLIENT KILL ends other connections, and its own after the reply', async (t) => {
  const { server, redis, ws } = await both(t);
  const others = await Promise.all([1, 2, 3].map(() => connect(t, server.addresses[1])));
  const [one, listener, last] = others;
  const id = (await one.ask('CLIENT', 'ID')).slice(1).trim();
  t.is(await redis.ask('CLIENT', 'KILL', 'ID', id), ':1\r\n');
  await one.over();
  t.is(one.left, '');
  await listener.ask('SUBSCRIBE', 'c');
  t.is(await redis.ask('CLIENT', 'KILL', 'TYPE', 'pubsub'), ':1\r\n');
  await listener.over();
  const [, address] = /addr=(\S+)/.exec(await last.ask('CLIENT', 'INFO'));
  t.is(await redis.ask('CLIENT', 'KILL', address), '+OK\r\n');
  await last.over();
  // a client sees the end of its connection before the server removes it
  const count = async () => (await redis.ask('CLIENT', 'LIST')).match(/\bid=/g).length;
  await until(async () => (await count()) === 1, 'the others to be gone');
  t.is(await redis.ask('CLIENT', 'KILL', 'USER', 'default', 'SKIPME', 'no'), ':1\r\n');
  await redis.over();
  t.is(await ask(ws, { cmd: 'ping' }), 'pong', 'CLIENT KILL ends no WebSockets');
});

test('unsupported commands get an error that names them', async (t) => {
  const { redis } = await both(t);
  for (const command of ['MULTI', 'EXEC', 'WATCH', 'MONITOR', 'EVAL']) {
    t.regex(await redis.ask(command, 'x'), new RegExp(`^-ERR ${command} is not supported here: .+\r\n$`));
  }
});

test('INFO and CLIENT return the fields that clients use', async (t) => {
  const { redis } = await both(t);
  t.is(await redis.ask('CLIENT', 'SETINFO', 'LIB-NAME', 'mine'), '+OK\r\n');
  const info = await redis.ask('INFO');
  for (const line of ['# Server', 'redis_version:7', 'loading:0', 'role:master', 'cluster_enabled:0', '# Keyspace']) {
    t.true(info.includes(`\r\n${line}`), line);
  }
  t.regex(await redis.ask('info', 'replication'), /^\$\d+\r\n# Replication\r\nrole:master\r\n/);
  const line = await redis.ask('CLIENT', 'INFO');
  t.regex(line, /^\$\d+\r\nid=\d+ addr=127\.0\.0\.1:\d+ laddr=127\.0\.0\.1:\d+ .* user=default .* lib-name=mine/);
  t.is((await redis.ask('CLIENT', 'LIST')).split('\n').length, 4);
});

test('a client without the password can do nothing', async (t) => {
  const { redis, ws } = await both(t, { password: 'secret' });
  for (const words of [['PING'], ['PUBLISH', 'room', 'x'], ['GET', 'k'], ['SUBSCRIBE', 'room']]) {
    t.is(await redis.ask(...words), '-NOAUTH Authentication required.\r\n');
  }
  t.regex(await redis.ask('HELLO', '3'), /^-NOAUTH HELLO must be called/);
  t.regex(await redis.ask('AUTH', 'wrong'), /^-WRONGPASS /);
  t.is(await redis.ask('AUTH', 'secret'), '+OK\r\n');
  t.is(await redis.ask('PUBLISH', 'room', 'x'), ':1\r\n');
  t.is(await ws.text(), 'x');
  t.is(await redis.ask('RESET'), '+RESET\r\n');
  t.is(await redis.ask('PING'), '-NOAUTH Authentication required.\r\n');
  t.regex(await redis.ask('HELLO', '3', 'AUTH', 'default', 'secret', 'SETNAME', 'me'), /^%7\r\n/);
});

test('users may do only what their rules allow', async (t) => {
  const users = [
    { name: 'bob', password: 'b', channels: ['news:*'], commands: ['publish', 'PSUBSCRIBE', 'client|id'] },
    { name: 'eve', password: 'e', keys: ['eve:*'] },
  ];
  const { server, redis: bob } = await both(t, { users });
  t.regex(await bob.ask('AUTH', 'b'), /^-WRONGPASS /);
  t.is(await bob.ask('AUTH', 'bob', 'b'), '+OK\r\n');
  t.is(await bob.ask('PUBLISH', 'news:1', 'x'), ':0\r\n');
  t.regex(await bob.ask('PUBLISH', 'room', 'x'), /^-NOPERM /);
  t.regex(await bob.ask('GET', 'x'), /^-NOPERM .* 'get' command/);
  t.regex(await bob.ask('CLIENT', 'LIST'), /^-NOPERM .* 'client\|list' command/);
  t.regex(await bob.ask('CLIENT', 'ID'), /^:\d/);
  t.regex(await bob.ask('PSUBSCRIBE', 'news:a*'), /^-NOPERM /);
  t.regex(await bob.ask('PSUBSCRIBE', 'news:*'), /^\*3/);
  const eve = await connect(t, server.addresses[1]);
  t.is(await eve.ask('AUTH', 'eve', 'e'), '+OK\r\n');
  t.is(await eve.ask('MSET', 'eve:1', 'a', 'eve:2', 'b'), '+OK\r\n');
  t.regex(await eve.ask('MSET', 'eve:1', 'a', 'bob', 'b'), /^-NOPERM /);
  t.regex(await eve.ask('KEYS', '*'), /^-NOPERM /);
  t.is(await eve.ask('PUBLISH', 'room', 'x'), ':1\r\n');
});

test('wrong passwords from one address are checked one after the other, and too many end the connection', async (t) => {
  const { server, redis } = await both(t, { password: 'secret' });
  const others = await Promise.all(Array.from({ length: 21 }, () => connect(t, server.addresses[1])));
  for (const other of others) other.send('AUTH', 'guess');
  const last = await Promise.race(
    others.map((other) =>
      within(
        other.ended.then(() => other.left),
        'the end of one',
      ),
    ),
  );
  t.is(last, '-ERR too many wrong passwords from this address\r\n');
  t.regex(await redis.ask('AUTH', 'secret'), /^-ERR too many|^\+OK/);
  t.is(await connectWs(t, server.addresses[0]).then((ws) => ask(ws, { cmd: 'ping' })), 'pong');
});

needing(test, 'openssl')('over TLS and over a unix socket', async (t) => {
  const { cert, key } = identity;
  const path = authority.file('resp.sock');
  const server = await ownServer(t, {
    ...options(),
    bind: [listener({ tls: { cert, key } }), listener({ address: `unix:${path}` })],
  });
  // an unknown ALPN protocol is accepted: none is registered for RESP
  const ALPNProtocols = ['redis'];
  const secure = await connect(t, server.addresses[0], {
    tls: { ca: authority.ca, servername: 'localhost', ALPNProtocols },
  });
  t.is(await secure.ask('PING'), '+PONG\r\n');
  const local = await connect(t, server.addresses[1]);
  await local.ask('SUBSCRIBE', 'c');
  t.is(await secure.ask('PUBLISH', 'c', 'x'), ':1\r\n');
  t.is(await local.next(), message('c', 'x'));
});

test('stop ends the connections', async (t) => {
  const { server, redis } = await both(t);
  await redis.ask('SUBSCRIBE', 'room');
  await server.stop();
  await redis.over();
  t.is(redis.left, '');
});

test('commands before the end of the stream are answered', async (t) => {
  const server = await ownServer(t, options());
  for (const [asked, answered] of [
    [request('PING'), '+PONG\r\n'],
    [Buffer.concat([request('PING'), request('QUIT')]), '+PONG\r\n+OK\r\n'],
    [
      Buffer.concat([request('PING'), Buffer.from('*x\r\n')]),
      '+PONG\r\n-ERR Protocol error: invalid multibulk length\r\n',
    ],
  ]) {
    const socket = net.connect({ ...connectOptions(server.addresses[1]), allowHalfOpen: true });
    t.teardown(() => socket.destroy());
    socket.end(asked);
    let text = '';
    for await (const chunk of socket) text += chunk;
    t.is(text, answered);
  }
});
