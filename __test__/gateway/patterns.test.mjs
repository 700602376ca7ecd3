// Patterns: subscriptions to every channel that a glob matches, with real clients.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import * as millrace from '../support/millrace.mjs';
import { ask, callIn, leave, member, onThreads, sharedServer, worker } from '../support/server.mjs';

const server = sharedServer(test, { workerPath: worker('commands'), threads: 3, ioThreads: 2 });
const members = async (t, count) => {
  const list = [];
  for (let index = 0; index < count; index++) list.push(await member(t, server));
  return list;
};
let prefixes = 0;
/** Channels of one test share a prefix that no other test uses. */
const freshPrefix = () => `p${++prefixes}:`;
const call = (...args) => server.call(...args);
const subscribe = (who, pattern, delta) => call('subscribe', who, { pattern }, delta);
const unsubscribe = (who, pattern, delta) => call('unsubscribe', who, { pattern }, delta);
const texts = ({ inbox }) => inbox.map(({ data }) => data);

/** Everything that was sent to these clients before has arrived. */
const settled = (clients) => Promise.all(clients.map((ws) => ask(ws, { cmd: 'ping' })));

test('subscribers of a pattern get messages to the channels that it matches', async (t) => {
  const [one, two] = await members(t, 2);
  const prefix = freshPrefix();
  t.deepEqual(await subscribe(one.id, `${prefix}*`), [one.id]);
  t.deepEqual(await subscribe(two.id, `${prefix}[ab]?`), [two.id]);
  t.is(await call('send', `${prefix}a1`, 'both'), 2);
  t.is(await call('send', `${prefix}c1`, 'one'), 1);
  t.is(await call('send', prefix, 'one again'), 1);
  t.is(await call('send', prefix.slice(0, -1), 'nobody'), 0);
  await settled([one, two]);
  t.deepEqual(texts(one), ['both', 'one', 'one again']);
  t.deepEqual(texts(two), ['both']);
});

test('a socket with several matching subscriptions gets and counts a message for each', async (t) => {
  const [one] = await members(t, 1);
  const prefix = freshPrefix();
  await subscribe(one.id, `${prefix}*`);
  await subscribe(one.id, `${prefix}??`);
  await call('subscribe', one.id, `${prefix}xy`);
  t.is(await call('send', `${prefix}xy`, 'three times'), 3);
  t.is(await call('send', `${prefix}xy`, 'not at all', { except: one.id }), 0);
  await settled([one]);
  t.deepEqual(texts(one), Array(3).fill('three times'));
});

test('subscriptions to a pattern are counted, and end with the last', async (t) => {
  const [one, two] = await members(t, 2);
  const prefix = freshPrefix();
  const pattern = `${prefix}*`;
  const channel = `${prefix}room`;
  t.deepEqual(await subscribe([one.id, two.id], pattern, 2), [one.id, two.id]);
  t.deepEqual(await subscribe(one.id, pattern), []);
  t.deepEqual(await unsubscribe([one.id, two.id], pattern, 2), [two.id]);
  t.is(await call('send', channel, 'one'), 1);
  t.true(await call('hasSubscriptions', channel));
  t.true(await call('hasSubscriptions', { pattern }));
  t.deepEqual(await unsubscribe(one.id, pattern), [one.id]);
  t.deepEqual(await unsubscribe(one.id, pattern), []);
  t.is(await call('send', channel, 'nobody'), 0);
  t.false(await call('hasSubscriptions', channel));
  t.false(await call('hasSubscriptions', { pattern }));
  await settled([one, two]);
  t.deepEqual([texts(one), texts(two)], [['one'], []]);
});

test('a pattern is its bytes, and not the channel of the same name', async (t) => {
  const [one] = await members(t, 1);
  const prefix = freshPrefix();
  const bytes = Buffer.concat([Buffer.from(prefix), Buffer.from([0xff, 0x3f])]);
  await subscribe(one.id, bytes);
  t.is(await call('send', Buffer.concat([Buffer.from(prefix), Buffer.from([0xff, 0x00])]), 'bytes'), 1);
  t.is(await call('send', Buffer.concat([Buffer.from(prefix), Buffer.from([0xfe, 0x00])]), 'others'), 0);
  await call('subscribe', one.id, `${prefix}[a]`);
  t.is(await call('send', `${prefix}[a]`, 'the channel'), 1);
  t.is(await call('send', `${prefix}a`, 'nobody'), 0);
  await settled([one]);
  t.deepEqual(texts(one), ['bytes', 'the channel']);
});

test('a virtual socket has its own patterns, marks their messages, and ends them when it is deleted', async (t) => {
  const [one] = await members(t, 1);
  const prefix = freshPrefix();
  const alias = await call('createVirtualSocket', one.id, 'mark ');
  await subscribe(alias, `${prefix}*`);
  await subscribe(one.id, `${prefix}r*`);
  t.is(await call('send', `${prefix}room`, 'twice'), 2);
  t.is(await call('send', `${prefix}room`, 'plain', { except: alias }), 1);
  t.true(await call('deleteVirtualSocket', alias));
  t.is(await call('send', `${prefix}room`, 'once'), 1);
  await settled([one]);
  t.deepEqual(texts(one).sort(), ['mark twice', 'once', 'plain', 'twice']);
});

test('patterns end with their connection', async (t) => {
  const [one] = await members(t, 1);
  const prefix = freshPrefix();
  const patterns = Array.from({ length: 100 }, (_, index) => `${prefix}${index}*`);
  for (const pattern of patterns) await subscribe(one.id, pattern);
  t.true((await call('stats')).patterns >= patterns.length);
  t.is(await call('send', `${prefix}77`, 'by 7* and 77*'), 2);
  await leave(one, server);
  await until(async () => !(await call('hasSubscriptions', `${prefix}77`)), 'the patterns to go');
  t.is(await call('send', `${prefix}77`, 'gone'), 0);
  for (const pattern of patterns) t.false(await call('hasSubscriptions', { pattern }));
});

test('messages of several threads arrive by a pattern in the order of their channel', async (t) => {
  const publishers = await onThreads(t, server, 3);
  const subscribers = await members(t, 6);
  const prefix = freshPrefix();
  const channel = `${prefix}room`;
  const ids = subscribers.map(({ id }) => id);
  await call('subscribe', ids.slice(0, 3), channel);
  await subscribe(ids.slice(3), `${prefix}*`);
  const each = 500;
  const flood = (ws, index) =>
    ask(ws, { cmd: 'flood', who: channel, count: each, prefix: `p${index}`, after: channel });
  const floods = publishers.map(flood);
  await call('setKey', channel, 'all at once');
  t.deepEqual(await Promise.all(floods), [each * 6, each * 6, each * 6]);
  const total = each * publishers.length;
  for (const ws of subscribers) await ws.when(() => ws.inbox.length === total, `${total} publications`);
  const [reference, ...others] = subscribers.map(texts);
  for (const [index, list] of others.entries()) t.deepEqual(list, reference, `${index + 1} saw another order`);
});

test('changes of patterns in a handler apply from the next call on', async (t) => {
  const [one] = await members(t, 1);
  const prefix = freshPrefix();
  const pattern = `${prefix}*`;
  for (let round = 0; round < 50; round++) {
    t.deepEqual(await callIn(one, 'subscribe', one.id, { pattern }), [one.id]);
    t.is(await callIn(one, 'send', `${prefix}${round}`, `round ${round}`), 1);
    t.deepEqual(await callIn(one, 'unsubscribe', one.id, { pattern }), [one.id]);
    t.is(await callIn(one, 'send', `${prefix}${round}`, 'too late'), 0);
  }
  t.deepEqual(
    texts(one),
    Array.from({ length: 50 }, (_, round) => `round ${round}`),
  );
});

test('a bad pattern is a TypeError that names the argument', (t) => {
  for (const fn of ['subscribe', 'unsubscribe', 'hasSubscriptions']) {
    const invoke = (topic) => (fn === 'hasSubscriptions' ? millrace[fn](topic) : millrace[fn](1, topic));
    for (const [topic, message] of [
      [{}, /^argument 'channel' must be a string, .* not an object$/],
      [{ patern: 'x' }, /^argument 'channel' must be .* not an object$/],
      [['x'], /^argument 'channel' must be .* not an array$/],
      [{ pattern: 5 }, /^argument 'channel\.pattern' must be .* not the number 5$/],
      [{ pattern: null }, /^argument 'channel\.pattern' must be .* not null$/],
      [{ pattern: 'x'.repeat(1025) }, /^argument 'channel\.pattern' must be at most 1024 bytes long, not 1025$/],
    ]) {
      t.throws(() => invoke(topic), { instanceOf: TypeError, message }, `${fn} ${JSON.stringify(topic)}`);
    }
    t.notThrows(() => invoke({ pattern: 'x'.repeat(1024) }));
    t.notThrows(() => invoke({ pattern: '[' }));
  }
});
