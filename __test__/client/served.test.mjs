// Channels to which only the server's code subscribes the client: after a lost connection they go on where they were.
import test from 'ava';

import { open, settled } from '../support/scripted-socket.mjs';

/** A client whose connection is open, and what it is told: the data of messages, and gaps as `[channel, position]`. */
async function listening(t) {
  const all = await open(t);
  const told = [];
  all.client.onMessage(({ data }) => told.push(data));
  all.client.onGap((...gap) => told.push(gap));
  return { ...all, ws: all.made[0], told };
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
const serve = (ws, o, e = 'e') => ws.say({ t: 'sub', c: 'a', e, o });
const say = (ws, ...offsets) => {
  for (const o of offsets) ws.say({ c: 'a', o, ts: 1000 + o }, `${o}`);
};
/** The requests for the history of a link. */
const asked = (ws) => ws.headers.filter(({ t }) => t === 'hist');

/** Answers the last of them, up to the newest publication. */
async function answer(ws, newest, ...offsets) {
  const { id } = asked(ws).at(-1);
  ws.answer('hist', { e: 'e', o: newest, n: offsets.length });
  for (const o of offsets) ws.say({ c: 'a', o, ts: 1000 + o, re: id }, `${o}`);
  await settled();
}

test('what was missed is read from the history, and what arrives meanwhile comes behind it', async (t) => {
  const all = await listening(t);
  serve(all.ws, 5);
  say(all.ws, 6);
  const ws = await lose(all);
  t.deepEqual(ws.headers, [], 'the server decides whether it is subscribed again');
  serve(ws, 9);
  t.deepEqual(asked(ws), [{ t: 'hist', c: 'a', since: { e: 'e', o: 6 }, limit: 10_000, id: 1 }]);
  say(ws, 10);
  await answer(ws, 10, 7, 8, 9, 10);
  say(ws, 11);
  t.deepEqual(all.told, [6, 7, 8, 9, 10, 11]);
});

test('nothing that was missed is no gap', async (t) => {
  const all = await listening(t);
  serve(all.ws, 5);
  const ws = await lose(all);
  serve(ws, 5);
  await answer(ws, 5);
  say(ws, 6);
  t.deepEqual(all.told, [6]);
});

test('what the history has no longer is a gap', async (t) => {
  const all = await listening(t);
  serve(all.ws, 5);
  const second = await lose(all);
  serve(second, 20);
  await answer(second, 20, 18, 19, 20);
  const third = await lose(all);
  serve(third, 2, 'other');
  t.deepEqual(asked(third), []);
  third.say({ c: 'a', o: 3, ts: 1 }, '3');
  t.deepEqual(all.told, [['a', at(17)], 18, 19, 20, ['a', at(2, 'other')], 3]);
});

test('a history that cannot be read is a gap', async (t) => {
  const all = await listening(t);
  serve(all.ws, 5);
  const ws = await lose(all);
  serve(ws, 7);
  ws.say({ t: 'err', id: asked(ws)[0].id, code: 'denied' });
  await settled();
  say(ws, 8);
  t.deepEqual(all.told, [['a', at(7)], 8]);
});

test('a loss while the history is read doubles nothing', async (t) => {
  const all = await listening(t);
  serve(all.ws, 5);
  say(all.ws, 6);
  const second = await lose(all);
  serve(second, 9);
  say(second, 10);
  const third = await lose(all);
  serve(third, 12);
  t.deepEqual(asked(third)[0].since, { e: 'e', o: 6 });
  await answer(third, 12, 7, 8, 9, 10, 11, 12);
  say(third, 13);
  t.deepEqual(all.told, [6, 7, 8, 9, 10, 11, 12, 13]);
});

test('what the history has brought before the channel is not told again after a loss', async (t) => {
  const all = await listening(t);
  serve(all.ws, 5);
  say(all.ws, 6);
  const second = await lose(all);
  serve(second, 9);
  await answer(second, 11, 7, 8, 9, 10, 11);
  say(second, 10);
  const third = await lose(all);
  serve(third, 12);
  t.deepEqual(asked(third)[0].since, { e: 'e', o: 11 });
  await answer(third, 12, 12);
  say(third, 13, 14);
  const fourth = await lose(all);
  serve(fourth, 14);
  t.deepEqual(asked(fourth)[0].since, { e: 'e', o: 14 }, 'the channel is farther than the history was');
  await answer(fourth, 14);
  t.deepEqual(all.told, [6, 7, 8, 9, 10, 11, 12, 13, 14]);
});

test('a history that a node behind cannot read is a gap, and what was told is not told again', async (t) => {
  const all = await listening(t);
  serve(all.ws, 5);
  say(all.ws, 6, 7, 8);
  const ws = await lose(all);
  serve(ws, 6);
  const [{ id, since }] = asked(ws);
  t.deepEqual(since, { e: 'e', o: 8 });
  ws.say({ t: 'err', id, code: 'failed' });
  await settled();
  say(ws, 7, 8, 9);
  t.deepEqual(all.told, [6, 7, 8, ['a', at(6)], 9]);
});

test('a gap of what the history has brought is none', async (t) => {
  const all = await listening(t);
  serve(all.ws, 5);
  const ws = await lose(all);
  serve(ws, 7);
  await answer(ws, 9, 6, 7, 8, 9);
  ws.say({ t: 'gap', c: 'a', e: 'e', o: 8 });
  say(ws, 9, 10);
  ws.say({ t: 'gap', c: 'a', e: 'new', o: 2 });
  ws.say({ c: 'a', o: 3, ts: 1 }, '3');
  t.deepEqual(all.told, [6, 7, 8, 9, 10, ['a', at(2, 'new')], 3]);
});

test('a history of a new epoch that the channel has not told of is not a second gap after a loss', async (t) => {
  const all = await listening(t);
  serve(all.ws, 5);
  const second = await lose(all);
  serve(second, 7);
  const [{ id }] = asked(second);
  second.say({ t: 'ok', id, e: 'new', o: 1, n: 0 });
  await settled();
  const third = await lose(all);
  serve(third, 2, 'new');
  t.deepEqual(asked(third)[0].since, { e: 'new', o: 1 });
  third.answer('hist', { e: 'new', o: 2, n: 1 });
  third.say({ c: 'a', o: 2, ts: 1002, re: asked(third)[0].id }, '2');
  await settled();
  t.deepEqual(all.told, [['a', at(1, 'new')], 2]);
});

test('a later subscription that could hold no more tells nothing twice', async (t) => {
  const all = await open(t);
  const [ws] = all.made;
  all.client.subscribe('a');
  ws.answer('sub', { e: 'e', o: 10 });
  const told = [];
  const onGap = (position) => told.push(['gap', position]);
  all.client.subscribe('a', { since: at(10_005), onMessage: ({ offset }) => told.push(offset), onGap });
  for (let o = 11; o <= 10_013; o++) ws.say({ c: 'a', o, ts: o }, '0');
  t.deepEqual(told, [['gap', undefined], 10_006, 10_007, 10_008, 10_009, 10_010, 10_011, 10_012, 10_013]);
});

test('without history each loss is a gap', async (t) => {
  const all = await listening(t);
  const subscribed = { t: 'sub', c: 'a' };
  all.ws.say(subscribed);
  all.ws.say({ c: 'a' }, '"one"');
  const ws = await lose(all);
  ws.say(subscribed);
  ws.say({ c: 'a' }, '"two"');
  t.deepEqual(all.told, ['one', ['a', undefined], 'two']);
});

test('a hole, and one that the server tells, are gaps', async (t) => {
  const { ws, told } = await listening(t);
  serve(ws, 5);
  say(ws, 6, 8);
  ws.say({ t: 'gap', c: 'a', e: 'e', o: 12 });
  say(ws, 13);
  t.deepEqual(told, [6, ['a', at(7)], 8, ['a', at(12)], 13]);
});

test('a subscription on the same connection begins anew', async (t) => {
  const { ws, told } = await listening(t);
  serve(ws, 5);
  say(ws, 6);
  serve(ws, 20);
  say(ws, 21);
  t.deepEqual([told, asked(ws)], [[6, 21], []]);
});

test('a channel to which it is not subscribed again loses none of what comes by a pattern', async (t) => {
  const all = await listening(t);
  serve(all.ws, 5);
  const ws = await lose(all);
  say(ws, 3, 9);
  t.deepEqual(all.told, [3, 9]);
});

test('a subscription of the application recovers by itself', async (t) => {
  const all = await listening(t);
  const own = [];
  all.client.subscribe('a', { onMessage: ({ data }) => own.push(data) });
  serve(all.ws, 5);
  all.ws.answer('sub', { e: 'e', o: 5 });
  say(all.ws, 6);
  const ws = await lose(all);
  serve(ws, 7);
  ws.answer('sub', { e: 'e', o: 7, recovered: true });
  say(ws, 7, 8);
  t.deepEqual([own, all.told, asked(ws)], [[6, 7, 8], [], []]);
});

test('without history, a subscription of the application tells what may be missing by itself', async (t) => {
  for (const ownFirst of [true, false]) {
    const all = await listening(t);
    const own = [];
    all.client.subscribe('a', { onMessage: ({ data }) => own.push(data), onGap: (gap) => own.push(gap) });
    const both = (ws) => {
      if (!ownFirst) ws.say({ t: 'sub', c: 'a' });
      ws.answer('sub', {});
      if (ownFirst) ws.say({ t: 'sub', c: 'a' });
    };
    both(all.ws);
    all.ws.say({ c: 'a' }, '1');
    const ws = await lose(all);
    both(ws);
    ws.say({ c: 'a' }, '2');
    t.deepEqual([own, all.told, asked(ws)], [[1, undefined, 2], [], []]);
  }
});

test('a new subscription of the application does not hide what may be missing', async (t) => {
  for (const history of [false, true]) {
    const all = await listening(t);
    const position = history ? { e: 'e', o: 5 } : {};
    all.ws.say({ t: 'sub', c: 'a', ...position });
    all.ws.end();
    const own = [];
    const tell = (what) => own.push(what);
    all.client.subscribe('a', { onMessage: ({ data }) => tell(data), onGap: tell });
    all.clock.pass(30_000);
    await settled();
    const ws = all.made.at(-1);
    ws.hi();
    ws.answer('sub', history ? { e: 'e', o: 7 } : {});
    ws.say({ t: 'sub', c: 'a', ...(history && { e: 'e', o: 7 }) });
    if (history) await answer(ws, 7, 6, 7);
    else ws.say({ c: 'a' }, '8');
    if (history) say(ws, 8);
    t.deepEqual([own, all.told], [[8], history ? [6, 7] : [['a', undefined]]]);
  }
});

test('a subscription of the application recovers only what it was there for', async (t) => {
  for (const served of [false, true]) {
    const all = await listening(t);
    serve(all.ws, 5);
    all.ws.end();
    const own = [];
    all.client.subscribe('a', { onMessage: ({ data }) => own.push(data) });
    all.clock.pass(30_000);
    await settled();
    const second = all.made.at(-1);
    second.hi();
    second.answer('sub', { e: 'e', o: 7 });
    // lost before the server's code subscribes it, or before the history is there
    if (served) serve(second, 7);
    const ws = await lose(all);
    ws.answer('sub', { e: 'e', o: 8, recovered: true });
    serve(ws, 8);
    say(ws, 8);
    await answer(ws, 8, 6, 7, 8);
    t.deepEqual([own, all.told], [[8], [6, 7, 8]]);
  }
});

test('a subscription that is closed without a connection hands over what it has had', async (t) => {
  const all = await listening(t);
  const room = all.client.subscribe('a', {});
  serve(all.ws, 5);
  all.ws.answer('sub', { e: 'e', o: 5 });
  say(all.ws, 6, 7);
  all.ws.end();
  room.close();
  all.clock.pass(30_000);
  await settled();
  const ws = all.made.at(-1);
  ws.hi();
  serve(ws, 8);
  await answer(ws, 8, 8);
  t.deepEqual([asked(ws)[0].since, all.told], [{ e: 'e', o: 7 }, [8]]);
});

test('a thousand of them are remembered', async (t) => {
  const all = await listening(t);
  const subscribe = (ws, index) => ws.say({ t: 'sub', c: `c${index}`, e: 'e', o: 1 });
  for (let index = 0; index <= 1000; index++) subscribe(all.ws, index);
  const ws = await lose(all);
  for (const index of [0, 1000]) subscribe(ws, index);
  t.deepEqual(
    asked(ws).map(({ c }) => c),
    ['c1000'],
  );
});
