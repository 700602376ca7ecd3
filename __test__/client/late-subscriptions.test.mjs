// Further subscriptions of a channel that is subscribed already: they read the history, and miss and double nothing.
import test from 'ava';

import { asked, at, lose, noting } from '../support/noted-channel.mjs';
import { settled } from '../support/scripted-socket.mjs';

test('a second subscription with last reads the history, and misses and doubles nothing', async (t) => {
  const { client, ws, told, say } = await asked(t);
  ws.answer('sub', { e: 'e', o: 3 });
  const late = noting({ last: 2 });
  client.subscribe('a', late.options);
  t.deepEqual(ws.headers.at(-1), { t: 'hist', c: 'a', since: { e: 'e', o: 1 }, limit: 10_000, id: 2 });
  say(4);
  ws.answer('hist', { e: 'e', o: 4, n: 3 });
  for (const o of [2, 3, 4]) ws.say({ c: 'a', o, re: 2 }, `${o}`);
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

test('a second subscription with last gets as many as are kept, page by page', async (t) => {
  const { client, ws } = await asked(t);
  ws.answer('sub', { e: 'e', o: 20 });
  const late = noting({ last: 10 });
  client.subscribe('a', late.options);
  // the server keeps 13 and those behind it
  for (const page of [
    [13, 14, 15],
    [16, 17],
    [18, 19, 20],
  ]) {
    const { id, since } = ws.headers.at(-1);
    t.deepEqual(since, { e: 'e', o: page[0] === 13 ? 10 : page[0] - 1 });
    ws.answer('hist', { e: 'e', o: 20, n: page.length });
    for (const o of page) ws.say({ c: 'a', o, re: id }, `${o}`);
    await settled();
  }
  t.deepEqual(late.told, [13, 14, 15, 16, 17, 18, 19, 20]);
  const none = noting({ last: 30 });
  client.subscribe('a', none.options);
  t.deepEqual(ws.headers.at(-1).since, { e: 'e', o: 0 });
  ws.answer('hist', { e: 'e', o: 20, n: 0 });
  await settled();
  t.deepEqual(none.told, []);
});

test('a second subscription gets nothing twice of what the channel brings later', async (t) => {
  const { client, ws, told, say } = await asked(t);
  ws.answer('sub', { e: 'e', o: 1 });
  const late = noting({ last: 2 });
  client.subscribe('a', late.options);
  ws.answer('hist', { e: 'e', o: 3, n: 2 });
  for (const o of [2, 3]) ws.say({ c: 'a', o, re: 2 }, `${o}`);
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
