// When the client connects again, and when it does not.
import test from 'ava';

import { open, scripted, settled } from '../support/scripted-socket.mjs';

/** Lets the client wait as long as it wants, and resolves with how long that was. */
async function waited(clock) {
  const [delay] = clock.delays;
  clock.pass(delay);
  await settled();
  return delay;
}

for (const [chance, expected] of [
  [1, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]],
  [0.5, [250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000]],
  [0, [0, 0, 0]],
]) {
  test(`the pause is a part of ${chance} of one that doubles`, async (t) => {
    const { clock, made } = await scripted(t);
    clock.chance = chance;
    const pauses = [];
    for (const _ of expected) {
      made.at(-1).end();
      pauses.push(await waited(clock));
    }
    t.deepEqual(pauses, expected);
    t.is(made.length, expected.length + 1);
  });
}

test('the pauses begin anew when a connection has answered or lasted, or the server says when, and not with hi alone', async (t) => {
  const { client, clock, made } = await scripted(t);
  clock.chance = 1;
  made[0].end();
  t.is(await waited(clock), 500);
  made[1].hi();
  made[1].say({}, '"to this client"');
  made[1].end();
  t.is(await waited(clock), 1000);
  made[2].say({ t: 'pong' });
  made[2].end();
  t.is(await waited(clock), 2000);
  client.call('m').catch(() => {});
  made[3].hi();
  made[3].answer('call');
  made[3].end();
  t.is(await waited(clock), 500);
  made[4].hi();
  made[4].end();
  t.is(await waited(clock), 1000);
  made[5].hi();
  clock.pass(25_000);
  made[5].end();
  t.is(await waited(clock), 500);
  made[6].end();
  t.is(await waited(clock), 1000);
  // the server sets the pace
  made[7].end(1012, 'retry=700');
  t.is(await waited(clock), 700 + 500);
});

for (const [reason, chance, expected] of [
  ['retry=700', 0.5, 700 + 250],
  ['retry=0', 1, 500],
  ['retry=700000', 1, 600_000],
  ['retry=x', 1, 500],
  ['retry=1 ', 1, 500],
]) {
  test(`${JSON.stringify(reason)}, with ${chance} of the jitter, is a pause of ${expected} ms`, async (t) => {
    const { clock, made } = await open(t);
    clock.chance = chance;
    made[0].end(1012, reason);
    t.is(await waited(clock), expected);
    t.is(made.length, 2);
  });
}

for (const code of [1000, 1002, 1003, 1007, 1008, 1009, 4001, 4002, 4003]) {
  test(`after ${code} it is closed for good, and says why`, async (t) => {
    const { client, clock, made, statuses } = await open(t);
    const errors = [];
    client.subscribe('a', { onError: ({ code, reason }) => errors.push([code, reason]) });
    const waiting = client.call('m');
    made[0].end(code, 'why');
    await t.throwsAsync(waiting, { code: 'closed' });
    t.deepEqual(errors, [['closed', 'why']]);
    t.deepEqual(statuses, [['open'], ['closed', code, 'why']]);
    t.is(client.status, 'closed');
    t.deepEqual(clock.delays, []);
    t.throws(() => client.subscribe('a'), { code: 'closed' });
    await t.throwsAsync(client.publish('a', 1), { code: 'closed' });
    t.is(made.length, 1);
  });
}

for (const code of [1001, 1005, 1006, 1011, 1012, 1013, 4000, 4004]) {
  test(`after ${code} it connects again`, async (t) => {
    const { client, clock, made, statuses } = await open(t);
    made[0].end(code);
    t.is(client.status, 'waiting');
    await waited(clock);
    made[1].hi();
    t.deepEqual(statuses, [['open'], ['waiting', code, ''], ['connecting'], ['open']]);
  });
}

test('close ends everything at once, also while it waits', async (t) => {
  const { client, clock, made, statuses } = await open(t);
  client.close();
  t.is(made[0].closedWith, 1000);
  client.close();
  made[0].end(1000);
  t.deepEqual(statuses, [['open'], ['closed', 1000, '']]);
  t.deepEqual(clock.delays, []);

  const other = await open(t);
  other.made[0].end();
  const call = other.client.call('m');
  other.client.close();
  await t.throwsAsync(call, { code: 'closed' });
  t.deepEqual(other.clock.delays, []);
});

test('a link that says nothing is asked, and is dead within 40 seconds', async (t) => {
  const { clock, made, statuses } = await open(t);
  clock.pass(24_999);
  t.is(made[0].pings, 0);
  clock.pass(1);
  t.is(made[0].pings, 1);
  made[0].say({ t: 'pong' });
  clock.pass(39_000);
  t.is(made[0].pings, 2);
  t.deepEqual(statuses, [['open'], ['waiting', 1006, 'no answer']]);
  t.is(made[0].closedWith, 1000);
  await waited(clock);
  t.is(made.length, 2);
  // what the dead link says afterwards does not count
  made[0].hi();
  made[0].end(1008);
  t.deepEqual(statuses.slice(2), [['connecting']]);
});

test('a link with messages is not asked, and the server can ask for earlier pings', async (t) => {
  const { clock, made } = await scripted(t);
  made[0].hi({ ping: 5000 });
  for (let round = 0; round < 10; round++) {
    clock.pass(4000);
    made[0].say({}, '1');
  }
  t.is(made[0].pings, 0);
  clock.pass(5000);
  t.is(made[0].pings, 1);
});

test('a late timer makes no link dead: only a ping in vain does', async (t) => {
  const { client, clock, made } = await open(t);
  clock.sleep(3_600_000);
  t.is(client.status, 'open');
  t.is(made[0].pings, 1);
  made[0].say({ t: 'pong' });
  clock.sleep(3_600_000);
  t.is(client.status, 'open');
  t.is(made[0].pings, 2);
  clock.pass(14_000);
  t.is(client.status, 'waiting');
});

test('an attempt without hi ends after 20 seconds', async (t) => {
  const { clock, made, statuses } = await scripted(t);
  clock.pass(19_999);
  t.deepEqual(statuses, []);
  clock.pass(1);
  t.deepEqual(statuses, [['waiting', 1006, 'no answer']]);
  t.is(made[0].closedWith, 1000);
});

test('an error is the end, whether a close follows or not', async (t) => {
  const { clock, made, statuses } = await scripted(t);
  made[0].dispatchEvent(Object.assign(new Event('error'), { message: 'refused' }));
  made[0].end(4001);
  t.deepEqual(statuses, [['waiting', 1006, 'refused']]);
  await waited(clock);
  made[1].dispatchEvent(new Event('error'));
  t.deepEqual(statuses.slice(1), [['connecting'], ['waiting', 1006, '']]);
});

test('a message that is not of the protocol ends the link', async (t) => {
  const { made, statuses } = await open(t);
  made[0].write('{no json');
  t.is(statuses[1][1], 1006);
  t.regex(statuses[1][2], /SyntaxError/);
});

test.serial('it connects at once when the network or the user is back, unless the server gave a time', async (t) => {
  const target = new EventTarget();
  globalThis.addEventListener = target.addEventListener.bind(target);
  globalThis.removeEventListener = target.removeEventListener.bind(target);
  globalThis.document = Object.assign(new EventTarget(), { visibilityState: 'visible' });
  t.teardown(() => {
    for (const name of ['addEventListener', 'removeEventListener', 'document']) delete globalThis[name];
  });
  const online = () => target.dispatchEvent(new Event('online'));
  const shown = () => document.dispatchEvent(new Event('visibilitychange'));
  const { client, made, statuses } = await open(t);
  made[0].end();
  online();
  await settled();
  t.is(made.length, 2);
  made[1].end();
  document.visibilityState = 'hidden';
  shown();
  await settled();
  t.is(made.length, 2);
  document.visibilityState = 'visible';
  shown();
  await settled();
  t.is(made.length, 3);
  made[2].end();
  // a page that nobody sees connects, too, when the network is back
  document.visibilityState = 'hidden';
  online();
  await settled();
  t.is(made.length, 4);
  document.visibilityState = 'visible';
  made[3].hi();
  t.deepEqual(statuses.at(-1), ['open']);
  // an open link is asked once, however often the page is shown
  shown();
  online();
  t.is(made[3].pings, 1);
  made[3].end(1012, 'retry=60000');
  online();
  await settled();
  t.is(made.length, 4);
  client.close();
  online();
  shown();
  await settled();
  t.is(made.length, 4);
});

test('the token is a subprotocol, asked for before each attempt', async (t) => {
  const tokens = ['caf\u{e9} \u{1f600}??>', undefined, 'third'];
  const { clock, made } = await scripted(t, { protocols: ['app'], getToken: async () => tokens.shift() });
  const [, , token] = made[0].protocols;
  t.deepEqual(made[0].protocols.slice(0, 2), ['millrace.v1', 'app']);
  t.regex(token, /^token\.[\w-]+$/);
  t.is(Buffer.from(token.slice(6), 'base64url').toString(), 'caf\u{e9} \u{1f600}??>');
  made[0].end();
  await waited(clock);
  t.deepEqual(made[1].protocols, ['millrace.v1', 'app']);
  made[1].end();
  await waited(clock);
  t.deepEqual(made[2].protocols, ['millrace.v1', 'app', `token.${Buffer.from('third').toString('base64url')}`]);
});

for (const [how, getToken] of [
  ['rejects', async () => Promise.reject(new Error('offline'))],
  [
    'throws',
    () => {
      throw new Error('offline');
    },
  ],
]) {
  test(`if getToken ${how}, it is asked again later`, async (t) => {
    const { clock, made, statuses } = await scripted(t, { getToken });
    t.deepEqual(statuses, [['waiting', 1006, 'Error: offline']]);
    await waited(clock);
    t.is(statuses.length, 3);
    t.is(made.length, 0);
  });
}

test('a token that comes after close opens nothing', async (t) => {
  let give;
  const { client, made } = await scripted(t, { getToken: () => new Promise((resolve) => (give = resolve)) });
  client.close();
  give('late');
  await settled();
  t.is(made.length, 0);
});

test('wrong arguments are TypeErrors that name them', async (t) => {
  const { client } = await open(t);
  const { createClient } = await import('../support/millrace-client.mjs');
  const wrong = (call, name) => t.throws(call, { instanceOf: TypeError, message: new RegExp(`^${name} must`) });
  wrong(() => createClient('example.com', { WebSocket: class {} }), 'url');
  wrong(() => client.subscribe(''), 'channel');
  wrong(() => client.subscribe(5), 'channel');
  wrong(() => client.handle('', () => {}), 'method');
  wrong(() => client.handle('m', 5), 'handler');
  await t.throwsAsync(client.call(), { instanceOf: TypeError, message: /^method must/ });
  await t.throwsAsync(client.publish(undefined, 1), { instanceOf: TypeError, message: /^channel must/ });
  await t.throwsAsync(client.publish('a', undefined), { instanceOf: TypeError, message: /^data must/ });
});

test.serial('what a listener throws is not lost, and harms nobody else', async (t) => {
  const { client, made } = await open(t);
  const thrown = [];
  const { queueMicrotask } = globalThis;
  globalThis.queueMicrotask = (call) => thrown.push(call);
  t.teardown(() => {
    globalThis.queueMicrotask = queueMicrotask;
  });
  const heard = [];
  client.onMessage(() => {
    throw new Error('mine');
  });
  const end = client.onMessage(({ data, channel }) => heard.push([data, channel]));
  made[0].say({}, '{"a":1}');
  made[0].say({ c: 'theirs', o: 3 }, 'text');
  end();
  made[0].say({}, '2');
  t.deepEqual(heard, [
    [{ a: 1 }, undefined],
    ['text', 'theirs'],
  ]);
  t.is(thrown.length, 3);
  t.throws(thrown[0], { message: 'mine' });
});
