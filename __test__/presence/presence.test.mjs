// Presence: who is a member, what the others are told, and that all of it is true after kills.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { agrees, answer, ask, membersOf, toldOf, Watcher } from '../support/presence.mjs';
import { callIn, forgotten, member, ownServer, sharedServer, worker } from '../support/server.mjs';
import { speak } from '../support/v1.mjs';

const channels = [
  ['room:*', { presence: true, clients: { subscribe: true, publish: true, info: true } }],
  ['old:*', { presence: true, history: { messages: 10, ageMs: 60_000 }, clients: { subscribe: true, info: true } }],
  ['mute:*', { presence: true, clients: { subscribe: true } }],
  ['given:*', { presence: true }],
  ['plain:*', { clients: { subscribe: true, publish: true, info: true } }],
];
const options = { workerPath: worker('commands'), threads: 2, ioThreads: 2, channels };
const server = sharedServer(test, options);

/** The numeric id of a client's socket. */
const idOf = ({ hi }) => Number(hi.s);

test('members are told of each other, not of themselves, and of the end of a killed client', async (t) => {
  const one = await speak(t, server);
  t.deepEqual(await one.subscribe('room:1', { info: { name: 'Ada' } }), { t: 'ok' });
  const two = await speak(t, server);
  await two.subscribe('room:1', { info: { name: 'Bob', at: [1, ' '] } });
  const [a, b] = [one.hi.s, two.hi.s];
  t.deepEqual(await toldOf(one, b), ['join', { name: 'Bob', at: [1, ' '] }]);
  const everybody = [
    { s: a, info: { name: 'Ada' } },
    { s: b, info: { name: 'Bob', at: [1, ' '] } },
  ];
  t.deepEqual(await ask(one, { c: 'room:1' }), [{ t: 'ok', id: 'p' }, everybody]);
  const missing = { t: 'err', id: 'p', code: 'bad', reason: 'info is missing' };
  t.deepEqual(await answer(two, { t: 'info', c: 'room:1', info: null }), [missing]);
  t.deepEqual(await answer(two, { t: 'info', c: 'room:1', info: 'away' }), [{ t: 'ok', id: 'p' }]);
  t.deepEqual(await toldOf(one, b), ['update', 'away']);
  const told = [...(two.told ?? []), ...(await two.all()).map(([header]) => header)];
  t.false(
    told.some(({ m }) => m?.some(({ s }) => s === b)),
    'nobody is told of itself',
  );
  const { members } = await server.call('presence', 'room:1');
  t.deepEqual(
    members.map(({ socketId, node, info }) => [socketId, node, info]),
    [
      [idOf(one), '0000000000000000', { name: 'Ada' }],
      [idOf(two), '0000000000000000', 'away'],
    ],
  );
  for (const { since } of members) t.true(Math.abs(Date.now() - since) < 60_000);
  two.ws.terminate();
  t.deepEqual(await toldOf(one, b), ['leave', undefined]);
  t.deepEqual(await answer(one, { t: 'unsub', c: 'room:1' }), [{ t: 'ok', id: 'p' }]);
  t.deepEqual(await server.call('presence', 'room:1'), { members: [] });
  t.deepEqual(await server.call('presenceCount', 'room:1'), { members: 0, sockets: 0 });
});

test('a client that unsubscribes is no member, also while the application has it subscribed', async (t) => {
  const watcher = await Watcher.on(t, server, 'room:two');
  const client = await speak(t, server);
  await client.subscribe('room:two');
  await server.call('subscribe', idOf(client), 'room:two');
  await agrees(server, watcher);
  t.is(watcher.known.size, 2);
  await answer(client, { t: 'unsub', c: 'room:two' });
  await agrees(server, watcher);
  t.is(watcher.known.size, 1);
  t.true(await server.call('hasSubscriptions', 'room:two'));
  // the application makes it one again, until its last subscription ends
  await server.call('subscribe', idOf(client), 'room:two', { member: { given: true } });
  await agrees(server, watcher);
  t.deepEqual(watcher.known.get(client.hi.s), { given: true });
  await server.call('unsubscribe', idOf(client), 'room:two');
  t.is((await membersOf(server, 'room:two')).size, 2);
  await server.call('unsubscribe', idOf(client), 'room:two');
  await agrees(server, watcher);
  t.is(watcher.known.size, 1);
});

test('JavaScript makes any socket a member, which then is told nothing of presence', async (t) => {
  const watcher = await Watcher.on(t, server, 'room:raw');
  const raw = await member(t, server);
  const results = await callIn(raw, 'subscribe', raw.id, 'room:raw', { member: 'raw' });
  t.deepEqual(results, [{ id: raw.id, position: undefined }]);
  await agrees(server, watcher);
  t.is(watcher.known.get(String(raw.id)), 'raw');
  t.true(await callIn(raw, 'setPresence', raw.id, 'room:raw', { typing: true }));
  await agrees(server, watcher);
  t.deepEqual(watcher.known.get(String(raw.id)), { typing: true });
  t.false(await callIn(raw, 'setPresence', raw.id, 'room:other', 1));
  t.deepEqual(await callIn(raw, 'presenceCount', 'room:raw'), { members: 2, sockets: 2 });
  await callIn(raw, 'send', 'room:raw', 'the first');
  t.is(await raw.text(), 'the first');
  raw.destroy();
  await forgotten(server, raw.id);
  await until(() => watcher.known.size === 1, 'its end as a member');
  await agrees(server, watcher);
});

test('several sockets with one info are one member', async (t) => {
  for (const info of [{ user: 1 }, { user: 1 }, { user: 2 }, undefined, undefined]) {
    const client = await speak(t, server);
    // spaces between the parts do not matter
    const text = info === undefined ? '' : `,"info":${JSON.stringify(info, null, 2).replaceAll('\n', '\r')}`;
    client.send(`{"t":"sub","id":1,"c":"room:tabs"${text}}`);
    t.is((await client.next())[0].t, 'ok');
  }
  t.deepEqual(await server.call('presenceCount', 'room:tabs'), { members: 3, sockets: 5 });
});

test('members come in pages, in the order of their numbers', async (t) => {
  const clients = [];
  for (let index = 0; index < 12; index++) clients.push(await speak(t, server));
  for (const client of clients.toReversed()) await client.subscribe('room:pages');
  const all = clients.map(({ hi }) => ({ s: hi.s }));
  const pages = [];
  for (let after; ; after = pages.at(-1).s) {
    const [{ more }, page] = await ask(clients[0], { c: 'room:pages', limit: 5, after });
    pages.push(...page);
    if (!more) break;
    t.is(page.length, 5);
  }
  t.deepEqual(pages, all);
  t.deepEqual((await ask(clients[0], { c: 'room:pages' }))[1], all);
  t.deepEqual(await ask(clients[0], { c: 'room:pages', limit: 0 }), [{ t: 'ok', id: 'p' }, []]);
  t.deepEqual(await ask(clients[0], { c: 'room:pages', after: all.at(-1).s }), [{ t: 'ok', id: 'p' }, []]);
  for (const after of ['x', '-1', '', '0', '1e3', '99999999999999999999']) {
    const [{ code }] = await ask(clients[0], { c: 'room:pages', after });
    t.is(code, 'bad', after);
  }
});

test('who may not is refused', async (t) => {
  const client = await speak(t, server);
  const error = async (header) => {
    const { t: kind, code } = await client.ask(header);
    return kind === 'err' ? code : kind;
  };
  const long = 'x'.repeat(4095);
  t.is(await error({ t: 'sub', c: 'room:long', info: long }), 'limit');
  t.is(await error({ t: 'info', c: 'room:long', info: long }), 'limit');
  t.is(await error({ t: 'info', c: 'room:long', info: long.slice(1) }), 'not_found');
  t.is(await error({ t: 'sub', c: 'room:long', info: long.slice(1) }), 'ok');
  // without the right to say it, it is ignored
  t.is(await error({ t: 'sub', c: 'mute:1', info: long }), 'ok');
  t.deepEqual((await ask(client, { c: 'mute:1' }))[1], [{ s: client.hi.s }]);
  t.is(await error({ t: 'info', c: 'mute:1', info: 1 }), 'denied');
  t.is(await error({ t: 'info', c: 'plain:1', info: 1 }), 'not_found');
  t.is(await error({ t: 'pres', c: 'plain:1' }), 'not_found');
  t.is(await error({ t: 'pres', c: 'given:1' }), 'denied');
  t.is(await error({ t: 'pres', c: 'nothing' }), 'denied');
  await server.call('subscribe', idOf(client), 'given:1', { member: 1 });
  const [, subscribed] = [await client.next(), await ask(client, { c: 'given:1' })];
  t.deepEqual(subscribed[1], [{ s: client.hi.s, info: 1 }]);
});

test('wrong arguments change nothing', async (t) => {
  const client = await member(t, server);
  const alias = await server.call('createVirtualSocket', client.id, 1);
  const fails = (...call) => t.throwsAsync(server.call(...call));
  for (const [name, message, ...call] of [
    ['TypeError', /value of JSON/, 'subscribe', client.id, 'room:args', { member: () => {} }],
    [
      'TypeError',
      /cannot exceed 4096 bytes of JSON, got 4097/,
      'subscribe',
      client.id,
      'room:args',
      { member: 'x'.repeat(4095) },
    ],
    ['TypeError', /virtual socket/, 'subscribe', alias, 'room:args', { member: 1 }],
    ['TypeError', /pattern/, 'subscribe', client.id, { pattern: 'room:*' }, { member: 1 }],
    ['TypeError', /cannot exceed/, 'setPresence', client.id, 'room:args', 'x'.repeat(4095)],
    ['TypeError', /socketId/, 'setPresence', 'x', 'room:args', 1],
    ['TypeError', /channel/, 'presence', 5],
  ]) {
    const error = await fails(...call);
    t.is(error.name, name);
    t.regex(error.message, message);
  }
  for (const call of [
    ['subscribe', client.id, 'plain:args', { member: 1 }],
    ['setPresence', client.id, 'plain:args', 1],
    ['presence', 'plain:args'],
    ['presenceCount', 'plain:args'],
  ]) {
    t.is((await fails(...call)).code, 'ERR_MILLRACE_NO_PRESENCE');
  }
  t.false(await server.call('hasSubscriptions', 'room:args'));
  t.false(await server.call('hasSubscriptions', 'plain:args'));
  await server.call('deleteVirtualSocket', alias);
});

test('above presenceEvents only the number is told, and once when it falls below', async (t) => {
  const own = await ownServer(t, { ...options, limits: { presenceEvents: 4 } });
  const watcher = await Watcher.on(t, own, 'room:many');
  const clients = [];
  for (let index = 0; index < 6; index++) {
    clients.push(await speak(t, own));
    await clients[index].subscribe('room:many');
  }
  await until(() => watcher.counts.at(-1) === 7, 'the number');
  for (const client of clients.slice(0, 2)) client.ws.terminate();
  await until(() => watcher.counts.at(-1) === 5, 'a lower number');
  clients[2].ws.terminate();
  await until(() => watcher.counts.at(-1) === 4, 'the last number');
  await agrees(own, watcher);
  const { length } = watcher.counts;
  clients[3].ws.terminate();
  await until(() => watcher.told.at(-1) !== 'count', 'a change of members');
  await agrees(own, watcher);
  t.is(watcher.known.size, 3);
  t.is(watcher.counts.length, length);
  t.is(watcher.told.at(-1), 'leave');
});

test('infos of all members have a bound in bytes', async (t) => {
  // each takes its length and 128
  const own = await ownServer(t, { ...options, limits: { presenceBytes: 1000 } });
  const client = await speak(t, own);
  const code = async (c, info) => (await client.ask({ t: 'sub', c, info })).code;
  t.is(await code('room:1', 'x'.repeat(498)), undefined);
  t.is(await code('room:2', 'x'.repeat(300)), 'limit');
  t.false(await own.call('hasSubscriptions', 'room:2'));
  const full = { code: 'ERR_MILLRACE_PRESENCE_FULL' };
  await t.throwsAsync(own.call('setPresence', idOf(client), 'room:1', 'y'.repeat(500)), full);
  await t.throwsAsync(own.call('subscribe', idOf(client), 'room:3', { member: 'y'.repeat(500) }), full);
  t.is((await client.ask({ t: 'info', c: 'room:1', info: 'short' })).t, 'ok');
  // the longer one is still held by the message that tells of it, for a moment
  await until(async () => (await code('room:2', 'x'.repeat(300))) === undefined, 'room for another');
});

test('a subscriber that still reads the past is told, too', async (t) => {
  const one = await speak(t, server);
  await one.subscribe('old:1', { info: 1 });
  for (let index = 0; index < 10; index++) await server.call('publish', 'old:1', 'x'.repeat(100_000));
  const watcher = await Watcher.on(t, server, 'old:1', { last: 10, info: 2 });
  const three = await speak(t, server);
  await three.subscribe('old:1', { last: 10, info: 3 });
  await agrees(server, watcher);
  three.ws.terminate();
  await until(() => watcher.told.at(-1) === 'leave', 'a member to leave');
  await agrees(server, watcher);
  t.is(watcher.known.size, 2);
});

test('members leave with their worker', async (t) => {
  const own = await ownServer(t, options);
  const workerOf = async (client) => (await own.call('getDebugState', 'sockets', idOf(client))).workerId;
  const clients = [];
  for (let index = 0; index < 8; index++) {
    const client = await speak(t, own);
    await client.subscribe('room:worker');
    client.workerId = await workerOf(client);
    clients.push(client);
  }
  const victim = await member(t, own);
  const watchers = await Promise.all(Array.from({ length: 4 }, () => Watcher.on(t, own, 'room:worker')));
  for (const watcher of watchers) watcher.workerId = await workerOf(watcher.client);
  victim.send(JSON.stringify({ cmd: 'exit', n: 1, code: 0 }));
  const doomed = clients.filter((client) => client.workerId === victim.workerId);
  t.true(doomed.length > 0 && doomed.length < clients.length);
  await Promise.all(doomed.map(({ ended }) => ended));
  const ended = new Set(doomed.map(({ hi }) => hi.s));
  await until(async () => [...(await membersOf(own, 'room:worker')).keys()].every((id) => !ended.has(id)), 'their end');
  const living = watchers.filter(({ workerId }) => workerId !== victim.workerId);
  t.true(living.length > 0);
  for (const watcher of living) await agrees(own, watcher);
});

test('after many joins and leaves at random everybody knows the members', async (t) => {
  const own = await ownServer(t, { ...options, limits: { presenceEvents: 20 } });
  const rooms = ['room:a', 'room:b', 'old:c'];
  const watchers = [];
  for (const room of rooms) for (let index = 0; index < 3; index++) watchers.push(await Watcher.on(t, own, room));
  const living = [];
  let seed = 7;
  const random = (below) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return Math.floor((seed / 2147483648) * below);
  };
  for (let step = 0; step < 600; step++) {
    const room = rooms[random(rooms.length)];
    const client = living[random(living.length)];
    const deed = random(10);
    if (living.length < 5 || (deed < 3 && living.length < 40)) living.push(await speak(t, own));
    else if (deed < 6) client.send({ t: 'sub', id: step, c: room, info: random(3) > 0 ? { step } : undefined });
    else if (deed < 7) client.send({ t: 'unsub', id: step, c: room });
    else if (deed < 8) client.send({ t: 'info', id: step, c: room, info: step });
    else if (deed < 9) living.splice(living.indexOf(client), 1)[0].ws.terminate();
    else await own.call('subscribe', idOf(client), room, { member: step }).catch(() => {});
    // malformed requests, such as a second sub, would close it
    if (client?.closed) living.splice(living.indexOf(client), 1);
  }
  for (const watcher of watchers) await agrees(own, watcher);
  for (const { ws } of living) ws.terminate();
  for (const watcher of watchers) {
    await until(async () => (await own.call('presenceCount', watcher.c)).sockets === 3, 'all others to be gone');
    await agrees(own, watcher);
    t.is(watcher.known.size, 3);
  }
});
