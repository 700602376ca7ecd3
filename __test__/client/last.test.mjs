// Subscriptions with `last`: the answer says how many follow, so that a loss before the first of them loses none.
import test from 'ava';

import { at, lose, subs } from '../support/noted-channel.mjs';
import { open } from '../support/scripted-socket.mjs';

/** A client that has subscribed `a` with the last ten, of which `last` follow up to offset 100; what it is told. */
async function begun(t, last) {
  const all = await open(t);
  const told = [];
  const noted = ['onGap', 'onRecovered', 'onSubscribed'].map((name) => [
    name,
    (position) => told.push(position ? [name, position] : [name]),
  ]);
  all.client.subscribe('a', { ...Object.fromEntries(noted), last: 10, onMessage: ({ data }) => told.push(data) });
  const [ws] = all.made;
  ws.answer('sub', { e: 'e', o: 100, last });
  return { ...all, ws, told };
}

test('the last that were on their way at a loss come behind it', async (t) => {
  const all = await begun(t, 3);
  const ws = await lose(all);
  t.deepEqual(subs(ws)[0], { t: 'sub', c: 'a', since: { e: 'e', o: 97 }, id: 2 });
  ws.answer('sub', { e: 'e', o: 101, recovered: true });
  for (const o of [98, 99, 100, 101]) ws.say({ c: 'a', o }, `${o}`);
  t.deepEqual(all.told, [['onSubscribed'], ['onRecovered', at(101)], ['onSubscribed'], 98, 99, 100, 101]);
});

test('if they are gone meanwhile, that is a gap', async (t) => {
  const all = await begun(t, 3);
  const ws = await lose(all);
  ws.answer('sub', { e: 'e', o: 101, recovered: false });
  ws.say({ c: 'a', o: 102 }, '102');
  t.deepEqual(all.told, [['onSubscribed'], ['onGap', at(101)], ['onSubscribed'], 102]);
  // the numbers began anew
  const other = await begun(t, 3);
  const next = await lose(other);
  next.answer('sub', { e: 'new', o: 2, recovered: false });
  for (const o of [1, 2, 3]) next.say({ c: 'a', o }, `${o}`);
  t.deepEqual(other.told, [['onSubscribed'], ['onGap', at(2, 'new')], ['onSubscribed'], 3]);
});

test('where none is kept, a loss is no gap', async (t) => {
  const all = await begun(t, undefined);
  let ws = all.ws;
  for (let round = 0; round < 3; round++) {
    ws = await lose({ ...all, ws });
    t.deepEqual(subs(ws)[0].since, { e: 'e', o: 100 });
    ws.answer('sub', { e: 'e', o: 100, recovered: true });
  }
  ws.say({ c: 'a', o: 101 }, '101');
  const again = [['onRecovered', at(100)], ['onSubscribed']];
  t.deepEqual(all.told, [['onSubscribed'], ...again, ...again, ...again, 101]);
});

test('a message that is missing among the last is a gap', async (t) => {
  const all = await begun(t, 3);
  for (const o of [97, 98, 100]) all.ws.say({ c: 'a', o }, `${o}`);
  t.deepEqual(all.told, [['onSubscribed'], 98, ['onGap', at(99)], 100]);
  all.ws.say({ t: 'gap', c: 'a', e: 'new', o: 5 });
  const ws = await lose(all);
  t.deepEqual(subs(ws)[0].since, { e: 'new', o: 5 });
});

test('what is on its way for the application comes to a client that subscribes meanwhile', async (t) => {
  const all = await open(t);
  const told = [];
  all.client.subscribe('a', { onGap: () => told.push('gap'), onMessage: ({ data }) => told.push(data) });
  const [ws] = all.made;
  ws.answer('sub', { e: 'e', o: 100, last: 2 });
  for (const o of [99, 100, 101]) ws.say({ c: 'a', o }, `${o}`);
  t.deepEqual(told, [99, 100, 101]);
});
