// The data of the admin page: who gets it, and what it says about connections, channels, workers and slow readers.
import test from 'ava';

import { allChannels, at, get, json, TOKEN, withAdmin } from '../support/admin.mjs';
import { until } from '../support/deadline.mjs';
import { ask, callIn, member, ownServer, sharedServer } from '../support/server.mjs';

const server = sharedServer(test, withAdmin());
const DATA = ['/state', '/channels', '/tap?channel=x', '/nothing'];

test('the data need the token, in the header only', async (t) => {
  for (const where of DATA) {
    for (const token of [null, '', 'wrong', TOKEN.slice(1), `${TOKEN}x`]) {
      // wrong tokens of one address are limited, so this file sends few
      if (token !== null && where !== '/state') continue;
      const answer = await get(server, where, { token });
      t.is(answer.status, 401, `${where} ${token}`);
      t.is(answer.headers.get('www-authenticate'), 'Bearer');
      t.is(await answer.text(), 'The token is missing or wrong');
    }
    const join = where.includes('?') ? '&' : '?';
    t.is((await get(server, `${where}${join}token=${TOKEN}`, { token: null })).status, 401);
    const headers = { Cookie: `token=${TOKEN}`, 'X-Token': TOKEN };
    t.is((await fetch(at(server, where), { headers })).status, 401);
  }
  t.is((await get(server, '/state')).status, 200);
  t.is((await get(server, '/nothing')).status, 404);
});

test('every answer forbids caches, frames, sniffing and referrers', async (t) => {
  for (const where of ['', '/', ...DATA]) {
    for (const token of [null, TOKEN]) {
      if (where.startsWith('/tap') && token !== null) continue;
      const answer = await get(server, where, { token });
      const header = (name) => answer.headers.get(name);
      t.is(header('cache-control'), 'no-store', where);
      t.is(header('x-frame-options'), 'DENY');
      t.is(header('x-content-type-options'), 'nosniff');
      t.is(header('referrer-policy'), 'no-referrer');
      t.is(header('access-control-allow-origin'), null);
      t.regex(header('content-security-policy'), /^default-src 'none';.* ?frame-ancestors 'none'/);
      await answer.text();
    }
  }
});

test('the page is one file that loads nothing, with a nonce of its own in each answer', async (t) => {
  const nonces = new Set();
  for (let round = 0; round < 3; round++) {
    const answer = await get(server, '', { token: null });
    t.is(answer.status, 200);
    t.is(answer.headers.get('content-type'), 'text/html; charset=utf-8');
    const [page, policy] = [await answer.text(), answer.headers.get('content-security-policy')];
    const [, nonce] = /script-src 'nonce-([0-9a-f]{32})';/.exec(policy);
    t.false(/unsafe|\*|https?:/.test(policy), policy);
    t.is(page.split(`<script nonce="${nonce}">`).length, 2);
    t.false(/<script(?! nonce)|src=|<link(?! rel="icon" href="data:,">)/.test(page));
    nonces.add(nonce);
  }
  t.is(nonces.size, 3);
});

test('other methods are refused, HEAD has no body, and paths beside it are not taken', async (t) => {
  for (const where of ['', '/state', '/channels', '/tap?channel=head']) {
    const post = await get(server, where, { method: 'POST', body: 'x' });
    t.deepEqual([post.status, post.headers.get('allow')], [405, 'GET, HEAD']);
    const head = await get(server, where, { method: 'HEAD' });
    t.deepEqual([head.status, await head.text()], [200, '']);
  }
  const beside = await fetch(`http://${server.addresses[0]}/administration`);
  t.is(beside.headers.get('x-frame-options'), null);
});

test('ten wrong tokens a minute, then none of that address counts', async (t) => {
  const own = await ownServer(t, withAdmin({ trustProxy: ['loopback'] }));
  const from = (address, token) => {
    const headers = { Authorization: `Bearer ${token}`, 'X-Forwarded-For': address };
    return fetch(at(own, '/state'), { headers });
  };
  const statuses = [];
  for (let round = 0; round < 12; round++) statuses.push((await from('192.0.2.1', `wrong ${round}`)).status);
  t.deepEqual(statuses, [...Array(10).fill(401), 429, 429]);
  const late = await from('192.0.2.1', TOKEN);
  t.is(late.status, 429, 'a right token would tell that it is right');
  const seconds = Number(late.headers.get('retry-after'));
  t.true(seconds > 0 && seconds <= 60);
  t.is((await from('192.0.2.2', TOKEN)).status, 200);
  t.is((await get(own, '', { token: null })).status, 200);
});

test('the state has figures, workers and what they have to do', async (t) => {
  const own = await ownServer(t, withAdmin({ threads: 1 }));
  const [ws, other] = [await member(t, own), await member(t, own)];
  const before = await json(own, '/state');
  t.is(before.stats.sockets, 2);
  t.deepEqual(before.slowReaders, { count: 0, largest: [] });
  t.deepEqual([before.taps, before.workersEnded], [0, 0]);
  const waits = [ws, other].map((client) => ask(client, { cmd: 'gate', key: 'open' }));
  waits.push(ask(ws, { cmd: 'ping' }));
  const held = async () => (await json(own, '/state')).workers[0].heldEvents;
  // two handlers are pending, and one message waits behind a pending one
  await until(async () => (await held()) === 3, 'three pending events');
  await callIn(await member(t, own), 'setKey', 'open', 'x');
  await Promise.all(waits);
  await until(async () => (await held()) === 0, 'no pending event');
  const { stats, workers } = await json(own, '/state');
  t.true(stats.messagesIn > before.stats.messagesIn && stats.uptimeSeconds > before.stats.uptimeSeconds);
  t.is(workers.length, 1);
  t.true(workers[0].batches > before.workers[0].batches && workers[0].events >= workers[0].batches);
  t.deepEqual([workers[0].connections, workers[0].queuedEvents, workers[0].requests], [3, 0, 0]);
  t.true(workers[0].handlerTimes.reduce((sum, count) => sum + count) > 0);
  await own.replaceWorkers();
  await until(async () => (await json(own, '/state')).workersEnded === 1, 'the end of the replaced worker');
});

test('a slow reader is listed with its address, its worker and its outbox', async (t) => {
  const own = await ownServer(t, withAdmin({ threads: 1, limits: { writeTimeoutMs: 600_000, outboxBytes: 1 << 26 } }));
  const [sender, stalled] = [await member(t, own), await member(t, own)];
  stalled.pause();
  await until(async () => {
    await ask(sender, { cmd: 'flood', who: stalled.id, count: 100, prefix: 'x', size: 20_000 });
    const { count, largest } = (await json(own, '/state')).slowReaders;
    if (count === 0) return false;
    t.is(count, 1);
    t.like(largest[0], { socket: stalled.id, address: '127.0.0.1', worker: stalled.workerId });
    t.true(largest[0].bytes > 16 * 1024);
    return true;
  }, 'the reader to be listed');
  stalled.destroy();
  await until(async () => (await json(own, '/state')).slowReaders.count === 0, 'the reader to go');
});

test('channels are listed by pages, found by a text, and the largest first', async (t) => {
  const own = await ownServer(t, withAdmin());
  const [one, two] = [await member(t, own), await member(t, own)];
  const names = Array.from({ length: 120 }, (_, index) => `room:${index}`);
  for (const name of names) await callIn(one, 'subscribe', one.id, name);
  for (const name of ['room:7', 'both']) await callIn(one, 'subscribe', [one.id, two.id], name);
  for (const limit of [1, 7, 1000]) {
    const { all, sizes } = await allChannels(own, limit);
    t.deepEqual(all.map(({ name }) => name).sort(), [...names, 'both'].sort());
    t.true(sizes.every((size) => size <= limit));
  }
  t.deepEqual((await allChannels(own, 3, 'om%3A11')).all.length, 11);
  t.deepEqual((await allChannels(own, 3, 'nothing')).all, []);
  const { channels, next } = await json(own, '/channels?order=largest&limit=3');
  t.deepEqual(
    channels
      .slice(0, 2)
      .map(({ name }) => name)
      .sort(),
    ['both', 'room:7'],
  );
  t.deepEqual([channels.length, channels[0].subscribers, channels[2].subscribers, next], [3, 2, 1, null]);
  t.is((await get(own, '/channels?after=x')).status, 400);
});

test('a channel is listed with its history, also after its last subscriber has left', async (t) => {
  const own = await ownServer(t, withAdmin());
  const ws = await member(t, own);
  await callIn(ws, 'subscribe', ws.id, 'plain');
  for (let index = 0; index < 7; index++) await callIn(ws, 'publish', 'kept:1', 'hello');
  const { all } = await allChannels(own, 10);
  const [kept, plain] = all.sort((a, b) => (a.name < b.name ? -1 : 1));
  t.deepEqual(plain, { name: 'plain', subscribers: 1 });
  t.like(kept, { name: 'kept:1', subscribers: 0, history: { messages: 5, offset: 7, behind: 0 } });
  t.true(kept.history.bytes > 5 * 5);
  t.is((await json(own, '/state')).history.bytes, kept.history.bytes);
});

test('a channel with presence is listed with the number of its members', async (t) => {
  const own = await ownServer(t, { ...withAdmin(), channels: { 'room:*': { presence: true } } });
  const ws = await member(t, own);
  await callIn(ws, 'subscribe', ws.id, 'room:1', { member: 'Ada' });
  await callIn(ws, 'subscribe', ws.id, 'room:2');
  const { all } = await allChannels(own, 10);
  const rows = all.map(({ name, subscribers, members }) => [name, subscribers, members]);
  t.deepEqual(rows.sort(), [
    ['room:1', 1, 1],
    ['room:2', 1, 0],
  ]);
});

test('names may be any bytes, and long ones are cut', async (t) => {
  const own = await ownServer(t, withAdmin());
  const ws = await member(t, own);
  const long = 'é'.repeat(3000);
  for (const name of ['', '<img src=x onerror=alert(1)>', '"\\\n\0', Buffer.from([0x61, 0xff]), long]) {
    await callIn(ws, 'subscribe', ws.id, name);
  }
  const { all } = await allChannels(own, 10);
  const [, ...others] = all.sort((a, b) => a.name.length - b.name.length);
  t.deepEqual(others.slice(0, -1), [
    { name: 'a\ufffd', hex: '61ff', subscribers: 1 },
    { name: '"\\\n\0', subscribers: 1 },
    { name: '<img src=x onerror=alert(1)>', subscribers: 1 },
  ]);
  t.deepEqual(others.at(-1), { name: 'é'.repeat(256), nameBytes: 6000, subscribers: 1 });
});

test('another path, and per listener', async (t) => {
  const admin = { token: TOKEN, path: '/internal/page' };
  const bind = ['127.0.0.1:0', { address: '127.0.0.1:0', stats: true, admin }];
  const own = await ownServer(t, withAdmin({ bind, stats: false, admin: false }));
  const [without, having] = own.addresses;
  const headers = { Authorization: `Bearer ${TOKEN}` };
  t.is((await fetch(`http://${having}/internal/page/state`, { headers })).status, 200);
  t.is((await fetch(`http://${having}/internal/page`)).status, 200);
  t.not((await fetch(`http://${having}/admin`)).status, 200);
  t.not((await fetch(`http://${without}/internal/page`)).status, 200);
});
