// Positions: each message once and in order, or a gap; what several subscriptions of one channel share. Over 400 lines because they share how they note
// what is told.
import test from 'ava';

import { open, settled } from '../support/scripted-socket.mjs';

const NAMES = [
  'onMessage',
  'onJoin',
  'onLeave',
  'onUpdate',
  'onCount',
  'onGap',
  'onRecovered',
  'onSubscribed',
  'onError',
];

/** All callbacks of a subscription, noted in `told`: messages as their data, others as `[name, …]`. */
function noting(options = {}) {
  const told = [];
  const callbacks = NAMES.map((name) => [
    name,
    (...given) => {
      if (name === 'onMessage') told.push(given[0].data);
      else told.push(name === 'onSubscribed' ? [name] : [name, ...given]);
    },
  ]);
  return { told, options: { ...Object.fromEntries(callbacks), ...options } };
}

/** A client whose connection is open, and a noted subscription of `a` that the server has not answered. */
async function asked(t, options) {
  const all = await open(t);
  const noted = noting(options);
  const room = all.client.subscribe('a', noted.options);
  const [ws] = all.made;
  const say = (o, more) => ws.say({ c: 'a', o, ts: 1000 + o, ...more }, `${o}`);
  return { ...all, ws, room, told: noted.told, say };
}

/** Loses the link; resolves with the next one. */
async function lose({ clock, made }) {
  made.at(-1).end();
  clock.pass(30_000);
  await settled();
  made.at(-1).hi();
  return made.at(-1);
}

const at = (offset, epoch = 'e') => ({ epoch, offset });
const subs = (ws) => ws.headers.filter(({ t }) => t === 'sub');

test('messages count from the answer on, once each', async (t) => {
  const { ws, told, room, say } = await asked(t);
  t.deepEqual(ws.headers, [{ t: 'sub', c: 'a', id: 1 }]);
  say(5);
  t.is(room.position, undefined);
  ws.answer('sub', { e: 'e', o: 5 });
  t.deepEqual(room.position, at(5));
  for (const offset of [5, 6, 6, 7, 3, 8]) say(offset);
  t.deepEqual(told, [['onSubscribed'], 6, 7, 8]);
  t.deepEqual(room.position, at(8));
});

test('a message has its channel, offset, time and publisher', async (t) => {
  const messages = [];
  const { ws } = await asked(t, { onMessage: (message) => messages.push(message) });
  ws.answer('sub', { e: 'e', o: 0 });
  ws.say({ c: 'a', o: 1, ts: 1790000000000, f: 'n-7' }, '{"text":"hi"}');
  const mark = undefined;
  t.deepEqual(messages, [
    { data: { text: 'hi' }, channel: 'a', offset: 1, timestamp: 1790000000000, from: 'n-7', mark },
  ]);
});

test('a hole that the server did not tell is a gap', async (t) => {
  const { ws, told, say } = await asked(t);
  ws.answer('sub', { e: 'e', o: 0 });
  for (const offset of [1, 4, 5]) say(offset);
  t.deepEqual(told, [['onSubscribed'], 1, ['onGap', at(3)], 4, 5]);
});

test('messages in the wrong order are a gap, and the late ones are dropped', async (t) => {
  const { ws, told, say } = await asked(t);
  ws.answer('sub', { e: 'e', o: 0 });
  for (const offset of [2, 1, 3]) say(offset);
  t.deepEqual(told, [['onSubscribed'], ['onGap', at(1)], 2, 3]);
});

test('a gap of the server moves the position', async (t) => {
  const { ws, told, room, say } = await asked(t);
  ws.answer('sub', { e: 'e', o: 0 });
  say(1);
  ws.say({ t: 'gap', c: 'a', e: 'e', o: 5 });
  say(6);
  ws.say({ t: 'gap', c: 'a', e: 'new', o: 2 });
  say(3);
  t.deepEqual(told, [['onSubscribed'], 1, ['onGap', at(5)], 6, ['onGap', at(2, 'new')], 3]);
  t.deepEqual(room.position, at(3, 'new'));
});

test('what except left out moves the position and calls nothing', async (t) => {
  const { ws, told, room, say } = await asked(t);
  ws.answer('sub', { e: 'e', o: 0 });
  say(1);
  ws.say({ c: 'a', o: 2, x: 1 });
  t.deepEqual(room.position, at(2));
  say(3);
  t.deepEqual(told, [['onSubscribed'], 1, 3]);
});

test('after a loss it asks for what is behind the last message', async (t) => {
  const all = await asked(t, { info: { name: 'me' } });
  all.ws.answer('sub', { e: 'e', o: 0 });
  all.say(1);
  all.say(2);
  const ws = await lose(all);
  t.deepEqual(subs(ws), [{ t: 'sub', c: 'a', since: { e: 'e', o: 2 }, info: { name: 'me' }, id: 2 }]);
  ws.answer('sub', { e: 'e', o: 4, recovered: true });
  for (const o of [3, 4, 5]) ws.say({ c: 'a', o }, `${o}`);
  t.deepEqual(all.told, [['onSubscribed'], 1, 2, ['onRecovered', at(4)], ['onSubscribed'], 3, 4, 5]);
});

test('what is not recovered is a gap, also a hole in what is recovered', async (t) => {
  const all = await asked(t);
  all.ws.answer('sub', { e: 'e', o: 2 });
  let ws = await lose(all);
  ws.answer('sub', { e: 'new', o: 7, recovered: false });
  ws.say({ c: 'a', o: 8 }, '8');
  ws = await lose(all);
  t.deepEqual(subs(ws)[0].since, { e: 'new', o: 8 });
  ws.answer('sub', { e: 'new', o: 11, recovered: true });
  ws.say({ c: 'a', o: 10 }, '10');
  const gap = ['onGap', at(7, 'new')];
  const hole = ['onGap', at(9, 'new')];
  const recovered = ['onRecovered', at(11, 'new')];
  t.deepEqual(all.told, [['onSubscribed'], gap, ['onSubscribed'], 8, recovered, ['onSubscribed'], hole, 10]);
});

test('without history every loss is a gap', async (t) => {
  const all = await asked(t);
  all.ws.answer('sub');
  all.ws.say({ c: 'a' }, '1');
  const ws = await lose(all);
  t.is(subs(ws)[0].since, undefined);
  ws.answer('sub');
  ws.say({ c: 'a' }, '2');
  t.deepEqual(all.told, [['onSubscribed'], 1, ['onGap', undefined], ['onSubscribed'], 2]);
});

test('since goes to the server', async (t) => {
  const { ws, told, say } = await asked(t, { since: at(3), last: 5 });
  t.deepEqual(subs(ws)[0], { t: 'sub', c: 'a', since: { e: 'e', o: 3 }, id: 1 });
  ws.answer('sub', { e: 'e', o: 4, recovered: true });
  say(4);
  t.deepEqual(told, [['onRecovered', at(4)], ['onSubscribed'], 4]);
});

test('last begins with as many as are kept', async (t) => {
  const all = await asked(t, { last: 10 });
  t.deepEqual(subs(all.ws)[0], { t: 'sub', c: 'a', last: 10, id: 1 });
  all.ws.answer('sub', { e: 'e', o: 100 });
  // none of them has arrived: they are asked for by position
  const ws = await lose(all);
  t.deepEqual(subs(ws)[0].since, { e: 'e', o: 90 });
  const other = await asked(t, { last: 10 });
  other.ws.answer('sub', { e: 'e', o: 100 });
  for (const offset of [98, 99, 101]) other.say(offset);
  t.deepEqual(other.told, [['onSubscribed'], 98, 99, ['onGap', at(100)], 101]);
});

test('a refused subscription is over; one that failed is tried again', async (t) => {
  const all = await asked(t);
  const { client, clock, ws, told } = all;
  ws.say({ t: 'err', id: 1, code: 'failed' });
  clock.pass(5000);
  t.deepEqual(told, []);
  t.is(subs(ws).length, 2);
  ws.say({ t: 'err', id: 2, code: 'denied', reason: 'no' });
  t.is(told.length, 1);
  const [[name, error]] = told;
  t.deepEqual([name, error.code, error.reason], ['onError', 'denied', 'no']);
  all.say(1);
  const next = await lose(all);
  t.deepEqual(next.headers, []);
  client.subscribe('a');
  t.is(subs(next).length, 1);
});

test('close ends a subscription, and the last one that of the server', async (t) => {
  const { client, ws, told, room, say } = await asked(t);
  ws.answer('sub', { e: 'e', o: 0 });
  const other = noting();
  const second = client.subscribe('a', other.options);
  say(1);
  room.close();
  room.close();
  say(2);
  t.deepEqual(told, [['onSubscribed'], 1]);
  t.deepEqual(other.told, [1, 2]);
  t.is(ws.headers.at(-1).t, 'sub');
  second.close();
  t.deepEqual(ws.headers.at(-1), { t: 'unsub', c: 'a', id: 2 });
  // subscribed anew: what is on its way belongs to the old subscription
  const again = noting();
  client.subscribe('a', again.options);
  say(3);
  ws.answer('sub', { e: 'e', o: 3 });
  say(4);
  t.deepEqual(again.told, [['onSubscribed'], 4]);
});

test('a second subscription with last reads the history, and misses and doubles nothing', async (t) => {
  const { client, ws, told, say } = await asked(t);
  ws.answer('sub', { e: 'e', o: 3 });
  const late = noting({ last: 2 });
  client.subscribe('a', late.options);
  t.deepEqual(ws.headers.at(-1), { t: 'hist', c: 'a', limit: 2, reverse: true, id: 2 });
  say(4);
  ws.answer('hist', { e: 'e', o: 4, n: 2 });
  for (const o of [4, 3]) ws.say({ c: 'a', o, re: 2 }, `${o}`);
  say(5);
  await settled();
  say(6);
  t.deepEqual(told, [['onSubscribed'], 4, 5, 6]);
  t.deepEqual(late.told, [3, 4, 5, 6]);
});

test('a second subscription with since is recovered, page by page, or has a gap where history ended', async (t) => {
  const { client, ws, say } = await asked(t);
  ws.answer('sub', { e: 'e', o: 6 });
  const late = noting({ since: at(2) });
  client.subscribe('a', late.options);
  t.deepEqual(ws.headers.at(-1), { t: 'hist', c: 'a', since: { e: 'e', o: 2 }, limit: 10_000, id: 2 });
  ws.answer('hist', { e: 'e', o: 6, n: 2 });
  for (const o of [3, 4]) ws.say({ c: 'a', o, re: 2 }, `${o}`);
  await settled();
  t.deepEqual(ws.headers.at(-1).since, { e: 'e', o: 4 });
  say(7);
  ws.answer('hist', { e: 'e', o: 7, n: 3 });
  for (const o of [5, 6, 7]) ws.say({ c: 'a', o, re: 3 }, `${o}`);
  await settled();
  t.deepEqual(late.told, [['onRecovered', at(7)], 3, 4, 5, 6, 7]);

  const tooLate = noting({ since: at(1) });
  client.subscribe('a', tooLate.options);
  ws.answer('hist', { e: 'e', o: 7, n: 1 });
  ws.say({ c: 'a', o: 7, re: 4 }, '7');
  await settled();
  t.deepEqual(tooLate.told, [['onGap', at(6)], 7]);

  const otherEpoch = noting({ since: at(1, 'old') });
  client.subscribe('a', otherEpoch.options);
  await settled();
  say(8);
  t.deepEqual(otherEpoch.told, [['onGap', at(7)], 8]);
});

test('a second subscription gets nothing twice of what the channel brings later', async (t) => {
  const { client, ws, told, say } = await asked(t);
  ws.answer('sub', { e: 'e', o: 1 });
  const late = noting({ last: 2 });
  client.subscribe('a', late.options);
  ws.answer('hist', { e: 'e', o: 3, n: 2 });
  for (const o of [3, 2]) ws.say({ c: 'a', o, re: 2 }, `${o}`);
  await settled();
  for (const offset of [2, 3, 4]) say(offset);
  t.deepEqual(late.told, [2, 3, 4]);
  t.deepEqual(told, [['onSubscribed'], 2, 3, 4]);
  // the numbers begin anew
  ws.say({ t: 'gap', c: 'a', e: 'new', o: 0 });
  say(1);
  t.deepEqual(late.told.slice(3), [['onGap', at(0, 'new')], 1]);
});

test('a second subscription catches up although the link is lost meanwhile', async (t) => {
  const all = await asked(t);
  all.ws.answer('sub', { e: 'e', o: 2 });
  const late = noting({ since: at(0) });
  all.client.subscribe('a', late.options);
  all.say(3);
  const ws = await lose(all);
  ws.answer('sub', { e: 'e', o: 4, recovered: true });
  ws.say({ c: 'a', o: 4 }, '4');
  ws.answer('hist', { e: 'e', o: 4, n: 4 });
  const { id } = ws.headers.at(-1);
  for (const o of [1, 2, 3, 4]) ws.say({ c: 'a', o, re: id }, `${o}`);
  await settled();
  ws.say({ c: 'a', o: 5 }, '5');
  t.deepEqual(
    late.told.filter((one) => typeof one === 'number'),
    [1, 2, 3, 4, 5],
  );
  t.false(late.told.some((one) => one[0] === 'onGap'));
});

test('a history that waits while the link is lost is told once', async (t) => {
  const all = await asked(t);
  all.ws.answer('sub', { e: 'e', o: 2 });
  // as many as are sent at once, so that the history waits
  for (let index = 0; index < 100; index++) all.client.call('m').catch(() => {});
  const late = noting({ since: at(0) });
  all.client.subscribe('a', late.options);
  all.ws.end();
  all.clock.pass(500);
  await settled();
  const ws = all.made[1];
  ws.hi();
  ws.answer('sub', { e: 'e', o: 2, recovered: true });
  const asking = ws.headers.filter(({ t }) => t === 'hist');
  t.true(asking.length > 0);
  for (const { id } of asking) {
    ws.say({ t: 'ok', id, e: 'e', o: 2, n: 2 });
    for (const o of [1, 2]) ws.say({ c: 'a', o, re: id }, `${o}`);
  }
  await settled();
  t.deepEqual(late.told, [['onRecovered', at(2)], 1, 2, ['onRecovered', at(2)], ['onSubscribed']]);
});

test('a second subscription whose history is refused has a gap', async (t) => {
  const { client, ws, say } = await asked(t);
  ws.answer('sub', { e: 'e', o: 2 });
  const late = noting({ last: 2 });
  client.subscribe('a', late.options);
  ws.say({ t: 'err', id: 2, code: 'denied' });
  await settled();
  say(3);
  t.deepEqual(late.told, [['onGap', at(2)], 3]);
});

test('a second subscription whose history comes too slowly has a gap, and holds back no more than 10,000', async (t) => {
  const { client, ws, say } = await asked(t);
  ws.answer('sub', { e: 'e', o: 5 });
  const late = noting({ since: at(2) });
  client.subscribe('a', late.options);
  const history = () => ws.headers.filter((header) => header.t === 'hist').length;
  for (let offset = 6; offset <= 10_005; offset++) say(offset);
  t.deepEqual(late.told, []);
  say(10_006);
  t.deepEqual(late.told.slice(0, 2), [['onGap', undefined], 6]);
  t.is(late.told.at(-1), 10_006);
  t.is(late.told.length, 10_002);
  // an answer that comes after all is too late, and nothing more is asked for
  ws.answer('hist', { e: 'e', o: 10_006, n: 1 });
  ws.say({ c: 'a', o: 3, re: 2 }, '3');
  await settled();
  say(10_007);
  t.deepEqual([late.told.length, late.told.at(-1), history()], [10_003, 10_007, 1]);
});

test('a loop gets what is published from its beginning on, and ends with the subscription', async (t) => {
  const { ws, room, say } = await asked(t);
  ws.answer('sub', { e: 'e', o: 0 });
  say(1);
  const loop = room[Symbol.asyncIterator]();
  say(2);
  say(3);
  t.is((await loop.next()).value.data, 2);
  t.is((await loop.next()).value.data, 3);
  const fourth = loop.next();
  say(4);
  t.is((await fourth).value.data, 4);
  const seen = [];
  const broken = (async () => {
    for await (const { data } of room) {
      seen.push(data);
      if (data === 6) break;
    }
  })();
  for (const offset of [5, 6, 7]) say(offset);
  await broken;
  t.deepEqual(seen, [5, 6]);
  room.close();
  for (const data of [5, 6, 7]) t.is((await loop.next()).value.data, data);
  t.deepEqual(await loop.next(), { done: true, value: undefined });
  t.true((await room[Symbol.asyncIterator]().next()).done);
});

test('a loop over a refused subscription throws, and one that is too slow, too', async (t) => {
  const denied = await asked(t);
  const loop = denied.room[Symbol.asyncIterator]();
  const next = loop.next();
  denied.ws.say({ t: 'err', id: 1, code: 'denied' });
  await t.throwsAsync(next, { code: 'denied' });

  const { ws, room, say, told } = await asked(t);
  ws.answer('sub', { e: 'e', o: 0 });
  const slow = room[Symbol.asyncIterator]();
  for (let offset = 1; offset <= 10_001; offset++) say(offset);
  for (let offset = 1; offset <= 10_000; offset++) await slow.next();
  await t.throwsAsync(slow.next(), { code: 'limit' });
  t.is(told.at(-1), 10_001);
});

test('a loop that ends before its first turn, or while it waits, is over', async (t) => {
  const { ws, room, say } = await asked(t);
  ws.answer('sub', { e: 'e', o: 0 });
  const waiting = room[Symbol.asyncIterator]();
  const next = waiting.next();
  await waiting.return();
  t.true((await next).done);
  const { push } = Array.prototype;
  let [offset, pushed] = [0, 0];
  const unused = room[Symbol.asyncIterator]();
  await unused.return();
  Array.prototype.push = function (...given) {
    if (given[0]?.channel === 'a') pushed += 1;
    return push.apply(this, given);
  };
  try {
    while (offset < 3) say(++offset);
  } finally {
    Array.prototype.push = push;
  }
  t.is(pushed, 0);
});

test('joins, leaves, updates and counts are told', async (t) => {
  const { ws, told } = await asked(t, { info: 'me' });
  ws.say({ t: 'join', c: 'a', m: [{ s: '8' }] });
  ws.answer('sub', { e: 'e', o: 0 });
  ws.say({ t: 'join', c: 'a', m: [{ s: '9', info: { name: 'you' } }, { s: '10' }] });
  ws.say({ t: 'update', c: 'a', m: [{ s: '9', info: 1 }] });
  ws.say({ t: 'leave', c: 'a', m: [{ s: '9' }] });
  ws.say({ t: 'count', c: 'a', n: 1234 });
  ws.say({ t: 'something new', c: 'a' });
  ws.say({ t: 'join', c: 'unknown', m: [{ s: '8' }] });
  t.deepEqual(told, [
    ['onSubscribed'],
    [
      'onJoin',
      [
        { socketId: '9', info: { name: 'you' } },
        { socketId: '10', info: undefined },
      ],
    ],
    ['onUpdate', [{ socketId: '9', info: 1 }]],
    ['onLeave', [{ socketId: '9', info: undefined }]],
    ['onCount', 1234],
  ]);
});

test('info that was changed is given again after a loss', async (t) => {
  const all = await asked(t, { info: 'first' });
  all.ws.answer('sub', { e: 'e', o: 0 });
  const changed = all.room.setInfo({ away: true });
  t.deepEqual(all.ws.headers.at(-1), { t: 'info', c: 'a', info: { away: true }, id: 2 });
  all.ws.answer('info');
  await changed;
  const ws = await lose(all);
  t.deepEqual(subs(ws)[0].info, { away: true });
});

test('messages for this client alone and of virtual sockets go to onMessage of the client', async (t) => {
  const { client, ws, told } = await asked(t);
  ws.answer('sub', { e: 'e', o: 0 });
  const heard = [];
  client.onMessage(({ data, channel, mark }) => heard.push([data, channel, mark]));
  ws.say({}, 'direct');
  ws.say({ c: 'a', o: 1, v: 'tab' }, '1');
  ws.say({ t: 'sub', c: 'theirs', e: 'f', o: 5 });
  ws.say({ c: 'theirs', o: 6 }, '6');
  ws.say({ c: 'theirs', o: 7, x: 1 });
  t.deepEqual(heard, [
    ['direct', undefined, undefined],
    [1, 'a', 'tab'],
    [6, 'theirs', undefined],
  ]);
  t.deepEqual(told, [['onSubscribed']]);
});
