// Subscriptions with `last`: a loss before the first message has come, when nobody knows how many are kept.
import test from 'ava';

import { at, lose, subs } from '../support/noted-channel.mjs';
import { open } from '../support/scripted-socket.mjs';

/** A client whose subscription of `a` with the last ten is at offset 100, and none of them has come; what it is told. */
async function begun(t) {
  const all = await open(t);
  const told = [];
  const noted = ['onGap', 'onRecovered', 'onSubscribed'].map((name) => [
    name,
    (position) => told.push(position ? [name, position] : [name]),
  ]);
  all.client.subscribe('a', { ...Object.fromEntries(noted), last: 10, onMessage: ({ data }) => told.push(data) });
  const [ws] = all.made;
  ws.answer('sub', { e: 'e', o: 100 });
  return { ...all, ws, told };
}

test('a loss before the first of the last is no gap, as nobody knows whether one is kept', async (t) => {
  const all = await begun(t);
  let ws = await lose(all);
  t.deepEqual(subs(ws)[0], { t: 'sub', c: 'a', last: 10_000, id: 2 });
  ws.answer('sub', { e: 'e', o: 100 });
  ws = await lose(all);
  t.deepEqual(subs(ws)[0], { t: 'sub', c: 'a', last: 10_000, id: 3 });
  ws.answer('sub', { e: 'e', o: 100 });
  ws.say({ c: 'a', o: 101 }, '101');
  ws = await lose(all);
  t.deepEqual(subs(ws)[0].since, { e: 'e', o: 101 });
  const again = [['onRecovered', at(100)], ['onSubscribed']];
  t.deepEqual(all.told, [['onSubscribed'], ...again, ...again, 101]);
});

test('the last that were on their way at a loss come behind it, and no others', async (t) => {
  const all = await begun(t);
  const ws = await lose(all);
  ws.answer('sub', { e: 'e', o: 100 });
  for (const o of [89, 90, 91, 92]) ws.say({ c: 'a', o }, `${o}`);
  const next = await lose(all);
  t.deepEqual(subs(next)[0].since, { e: 'e', o: 92 });
  t.deepEqual(all.told, [['onSubscribed'], ['onRecovered', at(100)], ['onSubscribed'], 91, 92]);
});

test('a loss before the first of the last is a gap if something was published, and what is kept comes', async (t) => {
  for (const [kept, more] of [
    [[99, 100, 101, 102], []],
    [[101, 102], []],
    [[102], [['onGap', at(101)]]],
    [[], []],
  ]) {
    const all = await begun(t);
    const ws = await lose(all);
    ws.answer('sub', { e: 'e', o: 102 });
    for (const o of kept) ws.say({ c: 'a', o }, `${o}`);
    t.deepEqual(all.told, [['onSubscribed'], ['onGap', at(90)], ['onSubscribed'], ...more, ...kept]);
  }
  // the numbers began anew
  const all = await begun(t);
  const ws = await lose(all);
  ws.answer('sub', { e: 'new', o: 2 });
  for (const o of [1, 2, 3]) ws.say({ c: 'a', o }, `${o}`);
  t.deepEqual(all.told, [['onSubscribed'], ['onGap', at(2, 'new')], ['onSubscribed'], 3]);
});

test('a gap in front of the first of the last is where it goes on', async (t) => {
  const all = await begun(t);
  all.ws.say({ t: 'gap', c: 'a', e: 'new', o: 5 });
  const ws = await lose(all);
  t.deepEqual(subs(ws)[0].since, { e: 'new', o: 5 });
});
