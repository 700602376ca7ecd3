// Limits by key, which `handleOpen` names, and limits of how fast connections come.
import { once } from 'node:events';
import net from 'node:net';
import test from 'ava';

import { until, within } from '../support/deadline.mjs';
import { text } from '../support/frames.mjs';
import { connectOptions, handshake } from '../support/http.mjs';
import { counted, open, ownServer, worker } from '../support/server.mjs';

const options = (limits, more) => ({ workerPath: worker('keyed'), threads: 2, ioThreads: 2, limits, ...more });
const of = (key, name) => ({ path: `/?key=${encodeURIComponent(key)}${name === undefined ? '' : `&name=${name}`}` });

/** The end of a connection as `handleClose` got it. */
async function closeOf(server, name) {
  let value;
  await until(async () => {
    value = await server.call('getKey', `close ${name}`);
    return value !== undefined;
  }, 'handleClose');
  return Buffer.from(value).toString();
}

for (const threads of [0, 2]) {
  test(`threads: ${threads}: connectionsPerKey: one more of the same key gets 503, another key is served`, async (t) => {
    const server = await ownServer(t, options({ connectionsPerKey: 2 }, { threads, metrics: true }));
    const first = await open(t, server, of('ann'));
    await open(t, server, of('ann'));
    const refused = await handshake(server.addresses[0], of('ann', 'third'));
    t.is(refused.status, 503);
    t.is(refused.body, 'Too many connections of this key');
    // it was accepted by its handler, so its end is reported
    t.is(await closeOf(server, 'third'), '1013 Too many connections of this key');
    const other = await open(t, server, of('bob'));
    t.is(other.headers['x-key'], 'counted');
    for (let index = 0; index < 5; index += 1) await open(t, server);
    t.like(await server.call('stats'), { refusedByKey: 1, refused: 0, sockets: 8 });
    const metrics = await (await fetch(`http://${server.addresses[0]}/metrics`)).text();
    t.regex(metrics, /^millrace_limited_connections_total\{limit="key"\} 1$/m);
    first.close(1000);
    await until(async () => {
      const { status } = await handshake(server.addresses[0], of('ann'));
      return status === 101;
    }, 'the place to be free again');
  });
}

test('keys count on all listeners and transports together, and places of any connection become free', async (t) => {
  const bind = ['127.0.0.1:0', '127.0.0.1:0'];
  const server = await ownServer(t, options({ connectionsPerKey: 1 }, { bind, events: true }));
  const [one, other] = server.addresses;
  const events = (address) => fetch(`http://${address}/events?key=ann`, { headers: { accept: 'text/event-stream' } });
  const stream = await events(one);
  t.is(stream.status, 200);
  t.is((await handshake(other, of('ann'))).status, 503);
  t.is((await events(other)).status, 503);
  await stream.body.cancel();
  await until(async () => (await handshake(other, of('ann'))).status === 101, 'the place to be free again');
  // a client that leaves without a word
  const gone = await open(t, server, of('bob'));
  t.is((await handshake(one, of('bob'))).status, 503);
  gone.destroy();
  await until(async () => (await handshake(one, of('bob'))).status === 101, 'the place to be free again');
});

test('a connection without HTTP that is over the limit of its key is closed', async (t) => {
  const bind = { address: '127.0.0.1:0', protocol: 'tcp', framing: 'line' };
  const server = await ownServer(t, {
    bind,
    workerPath: worker('keyed-tcp'),
    threads: 1,
    limits: { connectionsPerKey: 1 },
  });
  const connectTcp = async () => {
    const socket = net.connect(connectOptions(server.addresses[0]));
    t.teardown(() => socket.destroy());
    await once(socket, 'connect');
    return socket;
  };
  const first = await connectTcp();
  first.write('hello\n');
  t.is(String((await within(once(first, 'data'), 'an echo'))[0]), 'hello\n');
  const second = await connectTcp();
  second.resume();
  await within(once(second, 'end'), 'the end');
  await counted(server, 'refusedByKey', 1);
});

test('app.ws: open may name a key, and close is called for a socket over its limit', async (t) => {
  const server = await ownServer(t, {
    workerPath: worker('keyed-app'),
    threads: 1,
    limits: { connectionsPerKey: 1 },
  });
  const first = await open(t, server, { path: '/rooms/a' });
  t.is((await handshake(server.addresses[0], { path: '/rooms/a' })).status, 503);
  t.is(await first.text(), 'closed: 1013 Too many connections of this key');
  await open(t, server, { path: '/rooms/b' });
});

test('a key is a string of 1 to 256 bytes; other values fail the handler', async (t) => {
  const server = await ownServer(t, options({ connectionsPerKey: 1 }));
  for (const bad of ['empty', 'number', 'null', 'long']) {
    t.is((await handshake(server.addresses[0], { path: `/?bad=${bad}` })).status, 500, bad);
  }
  const all = async () => (await server.errors()).length >= 4 && server.errors();
  const errors = await until(all, 'the reports, which may come after the answers');
  t.is(errors.length, 4);
  for (const { code, message } of errors) {
    t.is(code, 'ERR_MILLRACE_HANDLER_FAILED');
    t.regex(message, /handleOpen: 'limitKey' must be a string of 1 to 256 bytes, not /);
  }
  await open(t, server, of('ü'.repeat(128)));
  t.is((await handshake(server.addresses[0], of('ü'.repeat(128)))).status, 503);
});

test.serial(
  'messagesPerSecondPerKey: connections of a key share it, on all threads; others are not slowed',
  async (t) => {
    const server = await ownServer(t, options({ messagesPerSecondPerKey: 50 }));
    const clients = [];
    for (let index = 0; index < 4; index += 1) clients.push(await open(t, server, of('ann')));
    const [other, without] = [await open(t, server, of('bob')), await open(t, server)];
    const count = 50;
    const before = performance.now();
    const all = Buffer.concat(Array.from({ length: count }, (_, index) => text(`m ${index}`)));
    for (const ws of clients) await ws.raw(all);
    for (const ws of [other, without]) {
      for (let index = 0; index < 10; index += 1) {
        ws.send(`ping ${index}`);
        t.is(await ws.text(), `ping ${index}`);
      }
    }
    // nothing is lost, and each connection's messages are in order
    for (const ws of clients) for (let index = 0; index < count; index += 1) t.is(await ws.text(), `m ${index}`);
    const took = performance.now() - before;
    t.true(took > 2900, `200 messages, 50 of them at once, took ${Math.round(took)} ms`);
  },
);

test.serial('messagesPerSecondPerKey: coming back does not bring new messages', async (t) => {
  const server = await ownServer(t, options({ messagesPerSecondPerKey: 5 }));
  const before = performance.now();
  for (let round = 0; round < 4; round += 1) {
    const ws = await open(t, server, of('ann'));
    for (let index = 0; index < 5; index += 1) ws.send(`${index}`);
    for (let index = 0; index < 5; index += 1) t.is(await ws.text(), `${index}`);
    ws.close(1000);
    await ws.closed();
  }
  const took = performance.now() - before;
  t.true(took > 2900, `20 messages, 5 of them at once, took ${Math.round(took)} ms`);
});

test.serial('connectionsPerSecond: accepting waits, and nothing is refused', async (t) => {
  const server = await ownServer(t, options({ connectionsPerSecond: 5 }));
  const before = performance.now();
  const clients = await Promise.all(Array.from({ length: 15 }, () => open(t, server, { ms: 60_000 })));
  const took = performance.now() - before;
  t.true(took > 1900, `15 connections, 5 of them at once, took ${Math.round(took)} ms`);
  for (const ws of clients) ws.send('still here');
  for (const ws of clients) t.is(await ws.text(), 'still here');
  t.like(await server.call('stats'), { refusedByAddress: 0, opened: 15 });
});

test.serial('connectionsPerSecondPerAddress: one that is too fast gets 503, another address is served', async (t) => {
  const server = await ownServer(t, options({ connectionsPerSecondPerAddress: 1 }));
  const [address] = server.addresses;
  const answers = await Promise.all(Array.from({ length: 20 }, () => handshake(address)));
  const refused = answers.filter(({ status }) => status === 503);
  t.true(refused.length > 0 && answers.some(({ status }) => status === 101));
  t.is(refused[0].body, 'Too many connections from this address');
  await open(t, server, { localAddress: '127.0.0.2' });
  let more = 0;
  await until(async () => {
    const { status } = await handshake(address);
    if (status === 503) more += 1;
    return status === 101;
  }, 'the next second');
  t.is((await server.call('stats')).refusedByAddress, refused.length + more);
});

test('connectionsPerSecondPerAddress counts the clients that a proxy names, not the proxy', async (t) => {
  const limits = { connectionsPerSecondPerAddress: 1 };
  const server = await ownServer(t, options(limits, { trustProxy: ['loopback'] }));
  const from = (client) => handshake(server.addresses[0], { headers: { 'X-Forwarded-For': client } });
  for (let index = 1; index <= 9; index += 1) t.is((await from(`10.0.0.${index}`)).status, 101);
  const answers = await Promise.all(Array.from({ length: 20 }, () => from('10.0.1.1')));
  t.true(answers.some(({ status }) => status === 503) && answers.some(({ status }) => status === 101));
});
