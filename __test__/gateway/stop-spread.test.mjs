// `stop({ spread })`: connections are closed one after the other, and each client is told when to come back.
import { once } from 'node:events';
import net from 'node:net';
import test from 'ava';

import { until, within } from '../support/deadline.mjs';
import { connectOptions } from '../support/http.mjs';
import { HttpConnection, request } from '../support/http-connection.mjs';
import { ask, member, open, ownServer, worker } from '../support/server.mjs';
import { Mux, splice } from '../support/splice.mjs';
import { echo } from '../support/splice-multiplexer.mjs';

const options = (more) => ({ workerPath: worker('commands'), threads: 1, ioThreads: 2, ...more });
const PATIENT = 120_000;

/** The milliseconds in the reason of a close. */
function retryOf(reason) {
  const [, ms] = /^retry=(\d+)$/.exec(reason) ?? [];
  if (ms === undefined) throw new Error(`no time in the reason '${reason}'`);
  return Number(ms);
}

/** The event of a close with the time at which it came. */
const ended = (client) => client.closed(PATIENT).then((end) => ({ ...end, at: performance.now() }));

for (const threads of [0, 2]) {
  test(`threads: ${threads}: connections are closed evenly over the time, with 1012 and a time to come back`, async (t) => {
    const server = await ownServer(t, options({ threads, limits: { closeTimeoutMs: PATIENT } }));
    const clients = [];
    for (let index = 0; index < 20; index += 1) clients.push(await member(t, server));
    const [spread, began] = [6000, performance.now()];
    const ends = clients.map(ended);
    const stopping = server.stop(undefined, { spread }, PATIENT);
    await ends[0];
    t.is(await ask(clients[19], { cmd: 'ping' }), 'pong', 'the last ones are served as before');
    const all = await Promise.all(ends);
    await stopping;
    const times = all.map(({ at }) => at - began).sort((one, other) => one - other);
    // never too early, however busy this machine is
    for (const [index, time] of times.entries()) {
      t.true(time >= ((index + 1) / times.length) * spread - 2, `${index}: ${time}`);
    }
    for (const end of all) {
      t.like(end, { code: 1012, finished: true });
      t.true(retryOf(end.reason) >= 1000 && retryOf(end.reason) < 2000, end.reason);
    }
    t.is(new Set(all.map(({ reason }) => reason)).size, all.length, 'they come back at different times');
  });
}

test('while it closes them, the server is not ready, accepts connections and answers each request once', async (t) => {
  const server = await ownServer(t, options({ ready: true, health: true }));
  const first = await member(t, server);
  const idle = new HttpConnection(server.addresses[0]);
  t.teardown(() => idle.destroy());
  idle.write(request('GET /health HTTP/1.1'));
  t.not((await idle.answer()).headers.connection, 'close');
  const stopping = server.stop(undefined, { spread: PATIENT }, 2 * PATIENT);
  const ready = async () => (await fetch(`http://${server.addresses[0]}/ready`)).status;
  await until(async () => (await ready()) === 503, 'the answer 503');
  t.is(await ask(first, { cmd: 'ping' }), 'pong');
  // a connection that was kept alive before is served, and closed with that
  idle.write(request('GET /health HTTP/1.1'));
  const last = await idle.answer();
  t.is(last.status, 200);
  t.is(last.headers.connection, 'close');
  await idle.closed();
  const late = await member(t, server);
  t.is(await ask(late, { cmd: 'ping' }), 'pong');
  const ends = [first, late].map(ended);
  // a later stop with a shorter time
  await server.stop(undefined, { spread: 0 });
  await stopping;
  for (const { code, reason } of await Promise.all(ends)) {
    t.is(code, 1012);
    // these were closed together, so they come back within the time that was planned
    t.true(retryOf(reason) >= 1000 && retryOf(reason) < 1000 + PATIENT);
  }
  await t.throwsAsync(open(t, server));
});

test('who comes while connections are closed stays until the end, and is told to come back within the time', async (t) => {
  const server = await ownServer(t, options({ ready: true, ioThreads: 1 }));
  const early = await Promise.all(Array.from({ length: 10 }, () => member(t, server)));
  const began = performance.now();
  const stopping = server.stop(undefined, { spread: 10_000, drain: PATIENT, code: 4242 }, PATIENT);
  const ready = async () => (await fetch(`http://${server.addresses[0]}/ready`)).status;
  await until(async () => (await ready()) === 503, 'the answer 503');
  // each I/O thread has chosen whom it closes one after the other when it closes the first of them
  await Promise.race(early.map(ended));
  const late = await Promise.all(Array.from({ length: 8 }, () => member(t, server)));
  for (const end of await Promise.all(late.map(ended))) {
    t.true(end.at - began >= 10_000 - 2, `${end.at - began}`);
    t.is(end.code, 4242);
    t.true(retryOf(end.reason) >= 1000 && retryOf(end.reason) < 11_000, end.reason);
  }
  for (const client of early) t.is((await client.closed()).code, 4242);
  await stopping;
});

test('handleClose gets the code and the reason; a second stop without times changes nothing', async (t) => {
  const server = await ownServer(t, options());
  const other = await server.start(options({ workerPath: undefined, threads: undefined, ioThreads: undefined }));
  const watcher = await member(t, server, { address: other.addresses[0] });
  await ask(watcher, { cmd: 'sub', channel: 'log' });
  const client = await member(t, server);
  const began = performance.now();
  const stopping = Promise.all([
    server.stop(server.handle, { spread: 1000, drain: PATIENT }, PATIENT),
    server.stop(server.handle, undefined, PATIENT),
    server.stop(server.handle, { spread: PATIENT, drain: PATIENT }, PATIENT),
  ]);
  const end = await ended(client);
  t.true(end.at - began >= 998);
  await until(() => watcher.inbox.some(({ data }) => `${data}`.includes(end.reason)), 'the close in the log');
  await stopping;
  t.is(await ask(watcher, { cmd: 'ping' }), 'pong', 'the other server goes on');
});

test('a shorter drain ends the wait for a client that does not read', async (t) => {
  const server = await ownServer(t, options({ limits: { outboxBytes: 64 * 1024 * 1024, writeTimeoutMs: PATIENT } }));
  const [sender, stalled] = [await member(t, server), await member(t, server)];
  stalled.pause();
  await ask(sender, { cmd: 'flood', who: stalled.id, count: 1000, prefix: 'd', size: 10_000 });
  const stopping = server.stop(undefined, { drain: 10 * PATIENT }, PATIENT);
  t.is((await sender.closed()).code, 1001);
  await server.stop(undefined, { drain: 0 });
  await stopping;
  t.pass();
});

test('an event stream is told by its own field; splice sessions, RESP, TCP and Sockety end in their own way', async (t) => {
  const closes = [];
  const target = await echo(t, (socket) => socket.on('close', (code) => closes.push(code)));
  const local = (protocol, more) => ({ address: '127.0.0.1:0', protocol, ...more });
  const server = await ownServer(t, {
    workerPath: worker('commands'),
    threads: 1,
    ioThreads: 1,
    events: true,
    bind: ['127.0.0.1:0', splice(), local('resp'), local('tcp', { framing: 'line' }), local('sockety')],
  });
  const [http, relay, ...others] = server.addresses;
  const stream = await fetch(`http://${http}/events`, { headers: { accept: 'text/event-stream' } });
  const mux = await Mux.open(t, { addresses: [relay] });
  const index = await mux.connect(target.url);
  const plain = await Promise.all(others.map((address) => received(t, address)));
  await until(async () => (await server.call('stats')).sockets === 6, 'all sockets');
  const stopping = server.stop(undefined, { spread: 300, drain: PATIENT }, PATIENT);
  const text = await stream.text();
  const [, ms] = /\nretry: (\d+)\n/.exec(text);
  t.true(text.endsWith(`event: close\nretry: ${ms}\ndata: 1012 retry=${ms}\n\n`), text);
  const end = await mux.ws.closed();
  t.is(end.code, 1012);
  t.true(retryOf(end.reason) >= 1000);
  // its target was not closed before it, and with the code of any stop
  t.deepEqual(mux.events, []);
  t.true(index >= 0);
  await until(() => closes.length === 1, 'the end of the target');
  t.deepEqual(closes, [1001]);
  const [resp, tcp, sockety] = await Promise.all(plain.map((one) => one.end));
  t.is(resp.length, 0);
  t.is(tcp.length, 0);
  t.is(sockety.at(-1), 0xb0, 'Go Away');
  await stopping;
});

/** A plain connection, and what arrives until its orderly end. */
async function received(t, address) {
  const socket = net.connect(connectOptions(address));
  t.teardown(() => socket.destroy());
  await within(once(socket, 'connect'), 'a connection');
  const chunks = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  return { end: within(once(socket, 'end'), 'the end', PATIENT).then(() => Buffer.concat(chunks)) };
}
