// The state of a gateway over HTTP: JSON at one path, metrics at another, both off unless asked for.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import test from 'ava';

import { toolPath } from '../../scripts/optional-tools.mjs';
import { until } from '../support/deadline.mjs';
import { needing } from '../support/needing.mjs';
import { freePort } from '../support/ports.mjs';
import { ask, open, ownServer, worker } from '../support/server.mjs';

const PARSER = fileURLToPath(new URL('../support/openmetrics.py', import.meta.url));

const options = (more) => ({ workerPath: worker('commands'), threads: 2, ioThreads: 2, ...more });
const at = (server, where) => `http://${server.addresses[0]}${where}`;

test('GET /stats is JSON, activeConnections first', async (t) => {
  const server = await ownServer(t, options({ stats: true }));
  const clients = [await open(t, server), await open(t, server)];
  t.is(await ask(clients[0], { cmd: 'ping' }), 'pong');
  const response = await fetch(at(server, '/stats'));
  t.is(response.status, 200);
  t.is(response.headers.get('content-type'), 'application/json');
  t.is(response.headers.get('cache-control'), 'no-store');
  const stats = await response.json();
  t.is(Object.keys(stats)[0], 'activeConnections');
  // the two, and the one that asks
  t.is(stats.activeConnections, 3);
  t.is(stats.sockets, 2);
  t.is(stats.opened, 2);
  t.true(stats.messagesIn >= 1 && stats.bytesIn > 0 && stats.bytesOut > 0);
  t.true(stats.residentBytes > 1_000_000);
  t.is(stats.errors, 0);
  t.is(stats.workers.length, 2);
  t.is(
    stats.workers.reduce((sum, one) => sum + one.connections, 0),
    2,
  );
  const before = stats.requests;
  t.is((await (await fetch(at(server, '/stats'))).json()).requests, before + 1);
});

test('errors that are reported are counted', async (t) => {
  const server = await ownServer(t, options({ stats: '/state' }));
  const ws = await open(t, server);
  ws.send(JSON.stringify({ cmd: 'error' }));
  await ws.closed();
  let errors = 0;
  while (errors === 0) errors = (await (await fetch(at(server, '/state'))).json()).errors;
  t.is(errors, 1);
});

test('HEAD has no body, other methods are refused, other paths are not taken', async (t) => {
  const server = await ownServer(t, options({ stats: true, metrics: '/internal/metrics' }));
  for (const where of ['/stats', '/internal/metrics']) {
    const head = await fetch(at(server, where), { method: 'HEAD' });
    t.is(head.status, 200);
    t.is(await head.text(), '');
    const post = await fetch(at(server, where), { method: 'POST', body: 'x' });
    t.is(post.status, 405);
    t.is(post.headers.get('allow'), 'GET, HEAD');
    await post.text();
    const query = await fetch(at(server, `${where}?now=1`));
    t.is(query.status, 200);
    await query.text();
  }
  for (const where of ['/metrics', '/stats/', '/Stats']) {
    const response = await fetch(at(server, where));
    t.not(response.status, 200, where);
    await response.text();
  }
});

test('off by default, and per listener', async (t) => {
  const bind = [{ address: '127.0.0.1:0', stats: false }, '127.0.0.1:0'];
  const server = await ownServer(t, options({ bind, stats: true }));
  const [without, having] = await Promise.all(server.addresses.map((address) => fetch(`http://${address}/stats`)));
  t.not(without.status, 200);
  t.is(having.status, 200);
  await Promise.all([without.text(), having.text()]);
  const plain = await ownServer(t, options());
  for (const where of ['/stats', '/metrics']) {
    const response = await fetch(at(plain, where));
    t.not(response.status, 200, where);
    await response.text();
  }
});

test('a WebSocket may be opened at these paths', async (t) => {
  const server = await ownServer(t, options({ stats: true }));
  const ws = await open(t, server, { path: '/stats' });
  t.is(await ask(ws, { cmd: 'ping' }), 'pong');
});

const PYTHON = 'python3 with prometheus_client';

needing(test, PYTHON)('GET /metrics is what the parser of the Prometheus client reads', async (t) => {
  const server = await ownServer(t, options({ metrics: true }));
  const clients = [await open(t, server), await open(t, server)];
  for (const ws of clients) {
    for (let n = 0; n < 100; n++) await ask(ws, { cmd: 'ping' });
  }
  const response = await fetch(at(server, '/metrics'));
  t.is(response.status, 200);
  t.is(response.headers.get('content-type'), 'application/openmetrics-text; version=1.0.0; charset=utf-8');
  const text = await response.text();
  t.true(text.endsWith('# EOF\n'));
  const { status, stdout, stderr } = spawnSync(toolPath(PYTHON), [PARSER], { input: text, encoding: 'utf8' });
  t.is(status, 0, stderr);
  const families = JSON.parse(stdout);
  const value = (family, labels = {}) => {
    const wanted = JSON.stringify(labels);
    const sample = families[family]?.samples.find((one) => JSON.stringify(one.labels) === wanted);
    return sample?.value;
  };
  t.is(value('millrace_connections'), 3);
  t.is(families.millrace_connections.type, 'gauge');
  t.is(value('millrace_handshakes', { result: 'accepted' }), 2);
  t.is(families.millrace_handshakes.type, 'counter');
  t.is(value('millrace_messages_received'), 200);
  t.is(value('millrace_deliveries'), 200);
  for (const reason of ['refused', 'close', 'overflow', 'encoding']) t.is(value('millrace_dropped', { reason }), 0);
  t.true(value('millrace_resident_memory_bytes') > 1_000_000);
  t.is(families.millrace_resident_memory_bytes.unit, 'bytes');
  for (const name of ['millrace_handler_duration_seconds', 'millrace_event_loop_delay_seconds']) {
    const family = families[name];
    t.is(family.type, 'histogram');
    const of = (end) => family.samples.filter((one) => one.name === `${name}_${end}`);
    t.is(of('count').length, 2);
    t.true(of('count').reduce((sum, one) => sum + one.value, 0) > 0, name);
    for (const total of of('count')) {
      const own = of('bucket').filter((one) => one.labels.worker === total.labels.worker);
      t.is(own.at(-1).labels.le, '+Inf');
      t.is(own.at(-1).value, total.value);
    }
  }
});

/** The answer of a listener without a handler for requests. */
const UPGRADE = 426;

/** The status and the body that a probe of this path gets. */
async function probe(server, where) {
  const response = await fetch(at(server, where));
  return [response.status, (await response.json()).status];
}

test('health and ready answer 200 in JSON on listeners that have them', async (t) => {
  const server = await ownServer(t, options({ health: true }));
  t.deepEqual(await probe(server, '/health'), [200, 'ok']);
  t.deepEqual(await probe(server, '/ready'), [200, 'ready']);
  const response = await fetch(at(server, '/ready'), { method: 'HEAD' });
  t.is(await response.text(), '');
  t.is(response.headers.get('content-type'), 'application/json');
  t.is(response.headers.get('cache-control'), 'no-store');
  t.is((await fetch(at(server, '/health'), { method: 'POST' })).status, 405);
  const without = await ownServer(t, options({}));
  for (const where of ['/health', '/ready']) t.is((await fetch(at(without, where))).status, UPGRADE);
});

const WHERE = ['/live', '/able', '/a', '/b', '/health', '/ready'];

test('health and ready at paths of their own, and for some listeners only', async (t) => {
  const address = '127.0.0.1:0';
  const bind = [
    { address },
    { address, health: false },
    { address, ready: false },
    { address, health: '/a', ready: '/b' },
    { address, protocol: 'splice', health: true },
  ];
  const server = await ownServer(t, options({ health: '/live', ready: '/able', bind }));
  const shown = [];
  for (const listener of server.addresses) {
    const answers = WHERE.map((where) => fetch(`http://${listener}${where}`));
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    shown.push(WHERE.filter((_path, index) => statuses[index] === 200));
  }
  t.deepEqual(shown, [['/live', '/able'], [], ['/live'], ['/a', '/b'], ['/health', '/ready']]);
});

test('ready is 503 while a server of the gateway stops, health is not', async (t) => {
  const server = await ownServer(t, options({ limits: { outboxBytes: 64 * 1024 * 1024 } }));
  const { handle } = server;
  await server.start(options({ health: true, bind: '127.0.0.1:0' }));
  const watched = { addresses: server.addresses.slice(1) };
  const client = await open(t, server);
  const { id } = await ask(client, { cmd: 'whoami' });
  client.pause();
  const sender = await open(t, server, { address: watched.addresses[0] });
  await ask(sender, { cmd: 'flood', who: id, count: 1000, prefix: 'd', size: 10_000 });
  t.deepEqual(await probe(watched, '/ready'), [200, 'ready']);
  const stopping = server.stop(handle, { drain: 60_000 });
  await until(async () => (await probe(watched, '/ready'))[0] === 503, 'not to be ready');
  t.deepEqual(await probe(watched, '/ready'), [503, 'stopping']);
  t.deepEqual(await probe(watched, '/health'), [200, 'ok']);
  client.resume();
  await stopping;
  t.deepEqual(await probe(watched, '/ready'), [200, 'ready']);
});

test('ready is 503 without the link to other nodes', async (t) => {
  const port = await freePort();
  const server = await ownServer(t, options({ health: true, backplane: `redis://127.0.0.1:${port}` }));
  t.deepEqual(await probe(server, '/ready'), [503, 'no backplane']);
  t.deepEqual(await probe(server, '/health'), [200, 'ok']);
});

test('ready is 503 while no worker takes connections', async (t) => {
  const server = await ownServer(t, { workerPath: worker('held'), threads: 1, health: true });
  const client = await open(t, server);
  await server.call('setKey', 'hold', 'yes');
  client.send('die');
  await until(async () => (await probe(server, '/ready'))[0] === 503, 'not to be ready');
  t.deepEqual(await probe(server, '/ready'), [503, 'no worker']);
  await server.call('setKey', 'hold');
  await until(async () => (await probe(server, '/ready'))[0] === 200, 'to be ready again');
});
