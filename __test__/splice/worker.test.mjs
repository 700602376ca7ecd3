// What a worker decides about sessions and their targets, and targets within the gateway.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { handshake } from '../support/http.mjs';
import { freePort } from '../support/ports.mjs';
import { open, ownServer, sharedServer, worker } from '../support/server.mjs';
import { Mux, options, reach, Target } from '../support/splice.mjs';

const judged = (more) => options(more, { workerPath: worker('splice-judge') });
const server = sharedServer(test, judged());

const session = (t, name, from = server) => Mux.open(t, from, { path: `/${name}` });

/** What a worker has written down. */
async function noted(from, key) {
  let value;
  await until(async () => {
    value = await from.call('getKey', key);
    return value !== undefined;
  }, key);
  return JSON.parse(value);
}

test('handleOpen refuses a session with its answer, and tells one that comes in from a WebSocket', async (t) => {
  const refused = await handshake(server.addresses[0], { path: '/refused?who=nobody' });
  t.deepEqual([refused.status, refused.headers['x-why'], refused.body], [401, 'cookie', 'log in first']);
  const mux = await session(t, 'opened');
  const { transport, ip, socketId } = await noted(server, 'open /opened');
  t.deepEqual([transport, ip], ['splice', '127.0.0.1']);
  mux.ws.close(4321, 'enough');
  await mux.ws.closed();
  t.deepEqual(await noted(server, 'close /opened'), { socketId, code: 4321, reason: 'enough' });
});

test('the application ends a session with all its targets', async (t) => {
  const mux = await session(t, 'ended');
  const target = await Target.listen(t);
  const { at } = await reach(mux, target);
  const { socketId } = await noted(server, 'open /ended');
  await server.call('close', socketId, 4000, 'over');
  t.like(await mux.ws.closed(), { code: 4000, reason: 'over' });
  t.is((await at.closing()).code, 1001);
});

test('handleSpliceConnect is told what the client wants, and by whom', async (t) => {
  const mux = await session(t, 'asks');
  await mux.ask('connect', { url: 'refuse=any thing', headers: { 'X-Own': 'a', Cookie: 'b=c' } });
  const { socketId } = await noted(server, 'open /asks');
  t.deepEqual(await noted(server, 'asked refuse=any thing'), {
    url: 'refuse=any thing',
    headers: { 'x-own': 'a', cookie: 'b=c' },
    socketId,
    token: '/asks',
  });
});

test('handleSpliceConnect refuses, accepts and rewrites', async (t) => {
  const [mux, target] = [await session(t, 'rewrites'), await Target.listen(t)];
  const headers = { 'X-Own': 'mine', Authorization: 'Bearer client' };
  const asks = async (answer) => (await mux.ask('connect', { url: `${answer}=${target.url()}`, headers })).error?.code;
  t.is(await asks('refuse'), 4006);
  // the client's own URL is none of a WebSocket
  for (const answer of ['accept', 'nothing']) t.is(await asks(answer), 4005, answer);
  t.is(target.connections.length, 0);
  for (const answer of ['url', 'only', 'late']) {
    t.is(await asks(answer), undefined, answer);
    const at = await target.asked();
    t.deepEqual([at.header('X-Own'), at.header('Authorization')], ['mine', 'Bearer client'], answer);
  }
  t.is(await asks('headers'), undefined);
  const at = await target.asked();
  t.deepEqual([at.header('X-Own'), at.header('Authorization')], [undefined, 'Bearer own']);
  t.is((await mux.connect(target.url())) > 0, true, 'one that is accepted as it is');
});

test('what handleSpliceConnect returns is judged as what a client asks for', async (t) => {
  const mux = await session(t, 'judged');
  for (const [url, code] of [
    ['http://127.0.0.1/', 4005],
    ['', 4005],
    ['ws://example.com/', 4006],
    ['ws://127.0.0.2/', 4006],
    ['ws://10.0.0.1/', 4006],
  ]) {
    const { error } = await mux.ask('connect', { url: `url=${url}` });
    t.deepEqual([error?.code, error?.path], [code, 'url'], url);
  }
});

test('where nothing is listed handleSpliceConnect decides, but about no address that is not public', async (t) => {
  const own = await ownServer(t, judged({ allowedHostnames: [], anyTarget: false }));
  const mux = await session(t, 'unlisted', own);
  const { error } = await mux.ask('connect', { url: 'url=ws://127.0.0.1:9/' });
  t.is(error.code, 4006);
});

test('headers that a handshake cannot have fail the call alone', async (t) => {
  const [mux, target] = [await session(t, 'headers'), await Target.listen(t)];
  for (const answer of ['host', 'line']) {
    const { error } = await mux.ask('connect', { url: `${answer}=${target.url()}` });
    t.is(error.code, 4007, answer);
    t.regex(error.message, /headers/);
  }
  t.is(target.connections.length, 0);
  t.is((await mux.ask('none')).error.code, 4003);
});

for (const answer of ['throw', 'reject', 'number']) {
  test(`a handleSpliceConnect that fails (${answer}) fails the call and ends the session with 1011`, async (t) => {
    const own = await ownServer(t, judged());
    const [mux, target] = [await session(t, answer, own), await Target.listen(t)];
    const { at } = await reach(mux, target);
    const { error } = await mux.ask('connect', { url: `${answer}=` });
    t.is(error.code, 4007);
    t.is((await mux.ws.closed()).code, 1011);
    t.is((await at.closing()).code, 1001);
    await until(async () => (await own.errors()).length > 0, 'the error of the handler');
  });
}

test('a handleSpliceConnect that takes its time keeps up no other call, and its call is given up', async (t) => {
  const own = await ownServer(t, judged({ limits: { dialTimeoutMs: 3000 } }));
  const [mux, target] = [await session(t, 'hangs', own), await Target.listen(t)];
  mux.control({ id: 77, type: 'method', method: 'connect', params: { url: 'hang=' } });
  t.is(await mux.connect(target.url()), 0);
  const { error } = await mux.reply(77);
  t.deepEqual([error.code, error.message], [4007, 'client timeout']);
});

test('a target within the gateway is a WebSocket of it, in the same rooms, beside servers elsewhere', async (t) => {
  const own = await ownServer(
    t,
    options(undefined, {
      workerPath: worker('splice-judge'),
      bind: ['127.0.0.1:0', { ...judged().bind, localTargets: true }],
    }),
  );
  const [http, splice] = own.addresses;
  const direct = await open(t, own, { address: http, path: '/direct' });
  const mux = await Mux.open(t, own, { address: splice, path: '/session', headers: { 'X-Name': 'of the session' } });
  const target = await Target.listen(t);
  const outside = await reach(mux, target);
  const before = (await own.call('stats')).connections;
  const room = await mux.connect('millrace:/room?a=b', { headers: { 'X-Name': 'given' } });
  t.deepEqual((({ socketId, ...told }) => told)(await noted(own, 'open /room')), {
    ip: '127.0.0.1',
    transport: 'websocket',
    name: 'given',
  });
  t.is((await own.call('stats')).connections, before + 1);

  mux.send(room, 'to all');
  t.is(await mux.textFrom(room), 'to all');
  t.is((await direct.next()).data, 'to all');
  direct.send('back');
  t.is(await mux.textFrom(room), 'back');
  outside.at.send('from elsewhere');
  t.is(await mux.textFrom(outside.index), 'from elsewhere');

  const { error } = await mux.ask('connect', { url: 'millrace:/room?who=nobody' });
  t.is(error.code, 4007);
  t.regex(error.message, /401/);

  mux.send(room, 'leave');
  const { params } = await mux.event();
  t.deepEqual([params.index, params.code, params.reason], [room, 4001, 'as you wish']);
  await until(async () => (await own.call('stats')).connections === before, 'its place to be free');

  const again = await mux.connect('millrace:/again');
  t.is(again, room);
  mux.ws.close(4321, 'all');
  await mux.ws.closed();
  t.is((await noted(own, 'close /again')).code, 4321);
  t.is((await outside.at.closing()).code, 4321);
  direct.close(1000);
  await until(async () => (await own.call('stats')).connections === 0, 'no connection');
});

test('without localTargets there are no targets within the gateway', async (t) => {
  const mux = await session(t, 'none');
  t.is((await mux.ask('connect', { url: 'url=millrace:/room' })).error.code, 4005);
  t.is((await mux.ask('connect', { url: 'millrace:/room' })).error.code, 4005);
});

/** The metrics of splice: `{'millrace_targets{host="a"}': 1}`. */
async function metricsOf(address) {
  const text = await (await fetch(`http://${address}/metrics`)).text();
  const lines = text.split('\n').filter((line) => /^millrace_target/.test(line));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
  );
}

test('metrics count what is relayed, by the hosts of targets', async (t) => {
  const own = await ownServer(t, judged({ metrics: true, localTargets: true }));
  const [address] = own.addresses;
  const [mux, target] = [await session(t, 'counted', own), await Target.listen(t)];
  const { index, at } = await reach(mux, target);
  for (const text of ['one', 'three']) mux.send(index, text);
  t.deepEqual([await at.text(), await at.text()], ['one', 'three']);
  at.send('seven!!');
  t.is(await mux.textFrom(index), 'seven!!');
  await mux.connect('millrace:/room');
  const url = `ws://LOCALHOST:${await freePort()}/`;
  t.is((await mux.ask('connect', { url: `only=${url}` })).error.code, 4007);
  const here = (name) => `millrace_target${name}{host="127.0.0.1"}`;
  await until(
    async () => (await metricsOf(address))['millrace_target_failed_total{host="localhost"}'] === 1,
    'a failure',
  );
  t.like(await metricsOf(address), {
    [here('s')]: 1,
    [here('_opened_total')]: 1,
    [here('_failed_total')]: 0,
    [here('_sent_messages_total')]: 2,
    [here('_sent_bytes_total')]: 8,
    [here('_received_messages_total')]: 1,
    [here('_received_bytes_total')]: 7,
    [here('_dropped_messages_total')]: 0,
    'millrace_targets{host="millrace"}': 1,
    'millrace_targets{host="localhost"}': 0,
  });
  mux.ws.destroy();
  await until(async () => (await metricsOf(address))[here('s')] === 0, 'no target to be open');
});
