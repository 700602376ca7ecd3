// The guarantees 1 to 5 of the design: each test would fail without the guarantee it is named after.
// (6 is in slow-readers.test.mjs, 7 in workers.test.mjs, 8 in stop.test.mjs.)
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { text } from '../support/frames.mjs';
import {
  ask,
  callIn,
  forgotten,
  member,
  onThreads,
  open,
  ownServer,
  sharedServer,
  worker,
} from '../support/server.mjs';

const server = sharedServer(test, { workerPath: worker('commands'), threads: 3, ioThreads: 2 });
const members = async (t, count, options) => {
  const list = [];
  for (let index = 0; index < count; index++) list.push(await member(t, server, options));
  return list;
};
let channels = 0;
const freshChannel = () => `guarantee ${++channels}`;

test('1: events of one connection are handled one at a time, also when handlers are async; others do not wait', async (t) => {
  const [one] = await members(t, 1);
  const calls = Array.from({ length: 30 }, (_, index) =>
    text(JSON.stringify({ cmd: 'delay', n: 9_000_000 + index, ms: 30 - index, echo: index })),
  );
  await one.raw(Buffer.concat(calls));
  for (let index = 0; index < 30; index++) t.is((await one.json()).re, 9_000_000 + index);
});

test('2: messages of one worker to one socket arrive in the order of the calls', async (t) => {
  const [one, target] = await members(t, 2);
  t.is(await ask(one, { cmd: 'flood', who: target.id, count: 5000, prefix: 'ordered' }), 5000);
  for (let index = 0; index < 5000; index++) t.is(await target.text(), `ordered ${index} `);
});

test('2: all subscribers of a channel see one and the same order, whoever published', async (t) => {
  const publishers = await onThreads(t, server, 3);
  const subscribers = await members(t, 12);
  const each = 1000;
  let switches = 0;
  // Rounds until the publications of several threads were really mixed, which is what the guarantee is about.
  for (let round = 0; round < 30 && switches < 50; round++) {
    const channel = freshChannel();
    const ids = subscribers.map(({ id }) => id);
    await server.call('subscribe', ids, channel);
    const flood = (ws, index) =>
      ask(ws, { cmd: 'flood', who: channel, count: each, prefix: `p${index}`, after: channel });
    const floods = publishers.map(flood);
    await server.call('setKey', channel, 'all at once');
    t.deepEqual(await Promise.all(floods), [each * 12, each * 12, each * 12]);
    const total = each * publishers.length;
    for (const ws of subscribers) await ws.when(() => ws.inbox.length === total, `${total} publications`);
    const seen = subscribers.map((ws) => ws.inbox.splice(0).map(({ data }) => data));
    const [reference] = seen;
    for (const [index, list] of seen.entries()) t.deepEqual(list, reference, `subscriber ${index} saw another order`);
    const last = [-1, -1, -1];
    let before = -1;
    for (const data of reference) {
      const [, publisher, index] = /^p(\d) (\d+) /.exec(data).map(Number);
      if (index !== last[publisher] + 1) t.fail(`${data} after ${last[publisher]}`);
      last[publisher] = index;
      if (publisher !== before) switches++;
      before = publisher;
    }
    await server.call('unsubscribe', ids, channel);
  }
  t.log(`${switches} changes of publisher`);
  t.true(switches >= 50, 'publications of several workers were never mixed');
});

test('3: the count of send is the deliveries posted, and every one arrives', async (t) => {
  const channel = freshChannel();
  const [sender, ...subscribers] = await members(t, 6);
  await server.call(
    'subscribe',
    subscribers.map(({ id }) => id),
    channel,
  );
  const virtual = await server.call('createVirtualSocket', subscribers[0].id, 'v ');
  await server.call('subscribe', virtual, channel);
  const posted = await ask(sender, {
    cmd: 'flood',
    who: [channel, subscribers[1].id, 44_444_444],
    count: 500,
    prefix: 'counted',
  });
  t.is(posted, 500 * 7);
  await until(() => subscribers.reduce((sum, ws) => sum + ws.received, 0) === posted, 'every delivery');
  t.is(subscribers[0].received, 1000);
  t.is(subscribers[1].received, 1000);
  t.is(subscribers[2].received, 500);
});

test('3: stats count what is lost with a socket that closes, and what is delivered', async (t) => {
  const limits = { outboxBytes: 64 * 1024 * 1024 };
  const own = await ownServer(t, { workerPath: worker('commands'), threads: 1, limits });
  const [one, stalled] = [await member(t, own), await member(t, own)];
  stalled.pause();
  const before = await own.call('stats');
  t.is(await ask(one, { cmd: 'flood', who: one.id, count: 100, prefix: 'd' }), 100);
  for (let index = 0; index < 100; index++) await one.text();
  const posted = await ask(one, { cmd: 'flood', who: stalled.id, count: 500, prefix: 'lost', size: 60_000 });
  t.is(posted, 500);
  stalled.destroy();
  await forgotten(own, stalled.id);
  await until(async () => (await own.call('stats')).droppedByClose > before.droppedByClose, 'the loss to be counted');
  const after = await own.call('stats');
  t.true(after.deliveries - before.deliveries >= 600);
  t.true(after.droppedByClose - before.droppedByClose <= 500);
  t.is(after.droppedByOverflow, 0);
});

test('4: a subscription made before a publish receives it, from any thread', async (t) => {
  const [one, two, three] = await members(t, 3);
  for (let round = 0; round < 300; round++) {
    const channel = `${freshChannel()} ${round}`;
    t.deepEqual(await callIn(one, 'subscribe', three.id, channel), [three.id]);
    t.is(await callIn(two, 'send', channel, `round ${round}`), 1);
    t.is(await three.text(), `round ${round}`);
  }
});

test('4: after unsubscribe returned nothing published later arrives', async (t) => {
  const channel = freshChannel();
  const [publisher, other, target] = await members(t, 3);
  for (let round = 0; round < 100; round++) {
    await callIn(other, 'subscribe', target.id, channel);
    // Publications of another worker race with the unsubscription; those before it may arrive, none after it.
    const racing = ask(publisher, { cmd: 'flood', who: channel, count: 50, prefix: `race ${round}` });
    t.deepEqual(await callIn(other, 'unsubscribe', target.id, channel), [target.id]);
    await callIn(other, 'send', channel, `after ${round}`);
    const posted = await racing;
    await callIn(other, 'send', target.id, `marker ${round}`);
    let seen = 0;
    for (;;) {
      const message = await target.text();
      if (message === `marker ${round}`) break;
      if (message.startsWith('after')) t.fail(message);
      seen++;
    }
    t.is(seen, posted, 'what was posted arrives, nothing else');
  }
});

test('4: after deleteVirtualSocket returned nothing published later arrives', async (t) => {
  const channel = freshChannel();
  const [publisher, other, target] = await members(t, 3);
  for (let round = 0; round < 50; round++) {
    const virtual = await server.call('createVirtualSocket', target.id);
    await callIn(other, 'subscribe', virtual, channel);
    const racing = ask(publisher, { cmd: 'flood', who: channel, count: 50, prefix: 'race' });
    t.true(await callIn(other, 'deleteVirtualSocket', virtual));
    t.is(await callIn(other, 'send', channel, 'after'), 0);
    const posted = await racing;
    await callIn(other, 'send', target.id, 'marker');
    let seen = 0;
    for (let message = await target.text(); message !== 'marker'; message = await target.text()) seen++;
    t.is(seen, posted);
  }
});

test('5: handleOpen finishes before the first message event, its sends come right after the handshake', async (t) => {
  const own = await ownServer(t, { workerPath: worker('admission'), threads: 2 });
  for (let round = 0; round < 25; round++) {
    const ws = await open(t, own, { path: `/greet?arg=${round}`, after: text('first message') });
    t.is(await ws.text(), `hello ${round}`);
    t.is(await ws.text(), 'still in handleOpen');
    const mine = await ws.text();
    t.is(mine, 'by channel');
    let next = await ws.text();
    while (next === 'by channel') next = await ws.text();
    t.is(next, 'first message');
    ws.destroy();
  }
});

test('5: a socket can be sent to and subscribed from before its handleOpen answered', async (t) => {
  const own = await ownServer(t, { workerPath: worker('gate'), threads: 1 });
  const opening = open(t, own);
  opening.catch(() => {});
  const [id] = await until(async () => {
    const ids = Object.keys(await own.call('getDebugState', 'sockets'));
    return ids.length > 0 && ids;
  }, 'the socket to exist');
  t.deepEqual(await own.call('subscribe', Number(id), 'early'), [Number(id)]);
  t.is(await own.call('send', Number(id), 'direct'), 1);
  t.is(await own.call('send', 'early', 'broadcast'), 1);
  await own.call('setKey', 'gate', 'open');
  const ws = await opening;
  t.deepEqual([await ws.text(), await ws.text()], ['direct', 'broadcast']);
});

test('5: handleClose is last, also behind a queue of async handlers', async (t) => {
  const [watcher] = await members(t, 1);
  await server.call('subscribe', watcher.id, 'log');
  const [one] = await members(t, 1);
  const key = `order of ${one.id}`;
  const frames = Array.from({ length: 10 }, (_, index) => text(JSON.stringify({ cmd: 'delay', n: index, ms: 5 })));
  frames.push(text(JSON.stringify({ cmd: 'kvSet', n: 11, key, value: 'handled' })));
  await one.raw(Buffer.concat(frames));
  one.close(4010);
  for (;;) {
    const entry = await watcher.json();
    if (entry.event === 'close' && entry.socketId === one.id) break;
  }
  t.is((await server.call('getKey', key))?.toString(), 'handled');
});

test('5: the token travels to the worker that runs handleClose when its own worker died', async (t) => {
  const own = await ownServer(t, { workerPath: worker('commands'), threads: 2 });
  const [watcher, victim] = [await member(t, own), await member(t, own)];
  t.not(watcher.threadId, victim.threadId);
  await own.call('subscribe', watcher.id, 'log');
  await own.call('setToken', victim.id, 'luggage');
  victim.send(JSON.stringify({ cmd: 'exit', n: 1 }));
  t.is((await victim.closed()).code, 1011);
  const entry = await watcher.json();
  t.like(entry, { event: 'close', socketId: victim.id, token: 'luggage', code: 1011 });
  t.not(entry.threadId, victim.threadId);
});

test('5: handleClose exactly once for every socket of a worker that died', async (t) => {
  const own = await ownServer(t, { workerPath: worker('commands'), threads: 2 });
  const watcher = await member(t, own);
  await own.call('subscribe', watcher.id, 'log');
  const clients = [];
  for (let index = 0; index < 60; index++) clients.push(await member(t, own));
  const victims = clients.filter(({ threadId }) => threadId !== watcher.threadId);
  t.true(victims.length >= 29);
  // Some of them are closing by themselves while their worker dies.
  for (const ws of victims.slice(0, 10)) ws.close(4000);
  victims.at(-1).send(JSON.stringify({ cmd: 'exit', n: 1 }));
  const seen = new Map();
  while (seen.size < victims.length) {
    const entry = await watcher.json();
    if (entry.event !== 'close') continue;
    t.false(seen.has(entry.socketId), `socket ${entry.socketId} closed twice`);
    seen.set(entry.socketId, entry);
  }
  for (const ws of victims) t.true(seen.has(ws.id));
  for (const ws of victims.slice(10)) t.is((await ws.closed()).code, 1011);
  await ask(watcher, { cmd: 'ping' });
  for (const { data } of watcher.inbox) t.not(JSON.parse(data).event, 'close');
});
