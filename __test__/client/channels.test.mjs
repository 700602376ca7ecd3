// Positions: each message once and in order, or a gap; what a channel tells of its members, and loops over it.
import test from 'ava';

import { asked, at, lose, noting, subs } from '../support/noted-channel.mjs';
import { open } from '../support/scripted-socket.mjs';

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
  all.ws.answer('sub', { e: 'e', o: 100, last: 3 });
  all.say(98);
  const ws = await lose(all);
  t.deepEqual(subs(ws)[0].since, { e: 'e', o: 98 });
  const other = await asked(t, { last: 10 });
  other.ws.answer('sub', { e: 'e', o: 100, last: 3 });
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

test('between close and its answer late messages go nowhere', async (t) => {
  const { client, ws, room, told, say } = await asked(t);
  const heard = [];
  client.onMessage(({ data, mark }) => heard.push([data, mark]));
  ws.answer('sub', { e: 'e', o: 0 });
  say(1);
  room.close();
  say(2);
  ws.say({ c: 'a', o: 3, v: 'tab' }, '3');
  const again = client.subscribe('a');
  say(4);
  again.close();
  const unsubs = ws.headers.filter(({ t }) => t === 'unsub');
  ws.say({ t: 'ok', id: unsubs[0].id });
  ws.answer('sub', { e: 'e', o: 4 });
  say(5);
  ws.say({ t: 'ok', id: unsubs[1].id });
  // from now on only the server's code can have subscribed it
  say(6);
  t.deepEqual(told, [['onSubscribed'], 1]);
  t.deepEqual(heard, [
    [3, 'tab'],
    [6, undefined],
  ]);
  t.deepEqual(room.position, at(1));
});

test('a channel to which the server has subscribed the client, too, loses nothing by close', async (t) => {
  const { client, made } = await open(t);
  const [ws] = made;
  const heard = [];
  client.onMessage(({ data }) => heard.push(data));
  ws.say({ t: 'sub', c: 'a', e: 'e', o: 0 });
  const room = client.subscribe('a');
  ws.answer('sub', { e: 'e', o: 0 });
  room.close();
  ws.say({ c: 'a', o: 1 }, '1');
  ws.answer('unsub');
  ws.say({ c: 'a', o: 2 }, '2');
  t.deepEqual(heard, [1, 2]);
});

test('what the server has subscribed while the client did goes on without the own subscription', async (t) => {
  for (const [ended, answer] of [
    ['close', { e: 'e', o: 0 }],
    ['denied', undefined],
  ]) {
    const all = await open(t);
    const { client, made } = all;
    const [ws] = made;
    const heard = [];
    client.onMessage(({ data }) => heard.push(data));
    client.onGap((channel, position) => heard.push([channel, position]));
    const own = noting();
    const room = client.subscribe('a', own.options);
    ws.say({ t: 'sub', c: 'a', e: 'e', o: 0 });
    if (answer) {
      ws.answer('sub', answer);
      ws.say({ c: 'a', o: 1 }, '1');
      room.close();
    } else {
      ws.say({ c: 'a', o: 1 }, '1');
      ws.say({ t: 'err', id: subs(ws)[0].id, code: 'denied' });
    }
    ws.say({ c: 'a', o: 2 }, '2');
    if (answer) ws.answer('unsub');
    ws.say({ c: 'a', o: 3 }, '3');
    ws.say({ c: 'a', o: 5 }, '5');
    t.deepEqual(heard, [...(answer ? [] : [1]), 2, 3, ['a', at(4)], 5], ended);
    // on the next connection the server tells it anew
    const next = await lose(all);
    next.say({ t: 'sub', c: 'a', e: 'e', o: 5 });
    next.say({ c: 'a', o: 6 }, '6');
    t.deepEqual(subs(next), [], ended);
  }
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
