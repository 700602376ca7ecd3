// The fall-back to a stream of Server-Sent Events, where WebSockets are blocked.
import test from 'ava';
import { WebSocket } from 'ws';

import { until } from '../support/deadline.mjs';
import { clientWith, createClient, fasterClock, ManualClock } from '../support/millrace-client.mjs';
import { settled } from '../support/scripted-socket.mjs';
import { V1Server } from '../support/v1-server.mjs';

/** For what must be answered: time is faster. */
const PATIENT = { timeoutMs: 1_000_000 };

/** A client of a server that refuses WebSockets. Its time is faster: it tries a WebSocket first. */
async function blocked(t, options, more) {
  const server = await V1Server.start(t, { webSockets: false, ...more });
  const { createClient } = await clientWith(fasterClock(20));
  const client = createClient(`${server.url}path?room=1`, { WebSocket, fallback: 'sse', ...options });
  t.teardown(() => client.close());
  const statuses = [];
  client.onStatus((status, reason) => statuses.push(reason ? [status, reason.code, reason.reason] : [status]));
  return { server, client, statuses };
}

test('all that goes over a WebSocket goes over a stream', async (t) => {
  const urls = [];
  const fetched = (url, init) => {
    urls.push(url);
    return fetch(url, init);
  };
  const { server, client } = await blocked(t, { getToken: () => 'secret', fetch: fetched });
  const got = [];
  const room = client.subscribe('a', { info: 'me', onMessage: ({ data }) => got.push(data) });
  const values = ['text', { deep: 1 }, 'two\nlines', 'cr\r\nlf', 'caf\u{e9} \u{1f600}', Uint8Array.of(0, 10, 13, 255)];
  for (const value of values) await client.publish('a', value);
  for (const text of ['plain\n\ntext\n', 'with\ra cr', '', ' leading', '\u{1f600}'.repeat(100_000)])
    server.publish('a', text);
  const expected = [...values, 'plain\n\ntext\n', 'with\ra cr', '', ' leading', '\u{1f600}'.repeat(100_000)];
  await until(
    () => got.length === expected.length,
    () => `all messages, after ${got.length}`,
  );
  t.deepEqual(got, expected);
  t.deepEqual(await client.call('echo', [1], PATIENT), [1]);
  t.deepEqual(
    (await room.presence(PATIENT)).map(({ info }) => info),
    ['me'],
  );
  client.handle('ask', (question) => `${question}!`);
  t.is((await server.current.call('ask', '"you"')).payload, '"you!"');
  t.is(server.offers.at(-1), 'Bearer secret');
  const [url] = urls;
  t.true(url.startsWith('http://127.0.0.1'));
  t.true(url.endsWith('/events?room=1&v=1'));
  t.false(urls.join().includes('secret') || urls.join().includes(server.current.key));
  t.deepEqual(server.violations, []);
});

test('messages arrive in the order of their calls', async (t) => {
  const { server, client } = await blocked(t);
  await Promise.all(Array.from({ length: 50 }, (_, number) => client.publish('a', number)));
  const { kept } = server.channels.get('a');
  t.deepEqual(
    kept.map(({ payload }) => Number(payload)),
    Array.from({ length: 50 }, (_, number) => number),
  );
});

test('a lost stream is made again, and recovers', async (t) => {
  const { server, client, statuses } = await blocked(t, {}, { channels: () => ({ history: 1000 }) });
  const got = [];
  client.subscribe('a', { onMessage: ({ data }) => got.push(data), onGap: () => got.push('gap') });
  const { members } = server.channels.get('a');
  for (let round = 0; round < 5; round++) {
    await until(() => members.size === 1, 'the subscription');
    server.publish('a', `${3 * round + 1}`);
    if (round % 2) server.current.cut();
    else server.current.close(1012, 'retry=5');
    server.publish('a', `${3 * round + 2}`);
    server.publish('a', `${3 * round + 3}`);
    await until(() => members.size === 0, 'the end of the connection');
  }
  await until(
    () => got.length === 15,
    () => `all messages, after ${got}`,
  );
  t.deepEqual(
    got,
    Array.from({ length: 15 }, (_, index) => index + 1),
  );
  t.true(statuses.some(([, code, reason]) => code === 1012 && reason === 'retry=5'));
});

test('a stream with a final close code is over', async (t) => {
  const { server, client, statuses } = await blocked(t);
  const session = await server.connections(1);
  session.close(4001, 'token expired');
  await until(() => client.status === 'closed', 'the end');
  t.deepEqual(statuses.at(-1), ['closed', 4001, 'token expired']);
});

for (const status of [401, 403]) {
  test(`a stream that is refused with ${status} is over`, async (t) => {
    const { client, statuses } = await blocked(t, {}, { streamStatus: status });
    await until(() => client.status === 'closed', 'the end');
    t.deepEqual(statuses.at(-1), ['closed', 4001, `HTTP ${status}`]);
  });
}

test('a POST for an unknown socket makes the client connect again', async (t) => {
  const { server, client } = await blocked(t);
  (await server.connections(1)).key = 'another';
  const call = client.call('echo', 1, PATIENT);
  await t.throwsAsync(call, { code: 'closed' });
  await server.connections(2);
  t.is(await client.call('echo', 2, PATIENT), 2);
});

test('a POST that is not answered makes the client connect again', async (t) => {
  const { server, client } = await blocked(t);
  await server.connections(1);
  server.deaf = true;
  const call = client.call('echo', 1, PATIENT);
  await t.throwsAsync(call, { code: 'closed' });
  server.deaf = false;
  await server.connections(2);
  t.is(await client.call('echo', 2, PATIENT), 2);
});

test('behind a lost stream comes a WebSocket, and what waits goes over it', async (t) => {
  const { server, client } = await blocked(t, {}, { channels: () => ({ history: 100 }) });
  const got = [];
  client.subscribe('a', { onMessage: ({ data }) => got.push(data), onGap: () => got.push('gap') });
  await client.publish('a', 1);
  const stream = await server.connections(1);
  t.is(typeof stream.key, 'string');
  server.webSockets = true;
  stream.key = 'of another node';
  const publication = client.publish('a', 2);
  t.is(typeof (await server.connections(2)).key, 'undefined');
  t.is((await publication).position.offset, 2);
  await until(() => got.length === 2, 'both messages');
  t.deepEqual(got, [1, 2]);
  t.deepEqual(server.violations, []);
});

/** A WebSocket that cannot be opened. */
class Blocked extends EventTarget {
  constructor() {
    super();
    queueMicrotask(() => this.dispatchEvent(Object.assign(new Event('close'), { code: 1006, reason: '' })));
  }
  close() {}
}

test('streams of which another node gets the messages are made more and more seldom', async (t) => {
  const clock = new ManualClock();
  clock.chance = 1;
  const { createClient } = await clientWith(clock);
  let [streams, posts] = [0, 0];
  // of two messages one reaches the node that has the stream, and is answered
  const fetched = async (_url, { method, body, signal }) => {
    if (method === 'POST' && posts++ % 2) return { status: 404 };
    if (method === 'POST') {
      answer(`{"t":"ok","id":${JSON.parse(body.split('\n')[0]).id}}`);
      return { status: 204 };
    }
    streams += 1;
    const start = (controller) => {
      answer = (text) => controller.enqueue(new TextEncoder().encode(`data: ${text}\n\n`));
      signal.addEventListener('abort', () => controller.close());
    };
    const body200 = new ReadableStream({ start });
    answer(`{"t":"hi","v":1,"s":"${streams}","k":"key"}`);
    return { status: 200, body: body200 };
  };
  let answer;
  const client = createClient('ws://server/', { WebSocket: Blocked, fetch: fetched, fallback: 'sse' });
  t.teardown(() => client.close());
  for (const name of ['a', 'b']) client.subscribe(name);
  const pauses = [];
  while (pauses.length < 6) {
    await until(() => client.status === 'waiting', 'the end of the attempt');
    pauses.push(clock.delays.at(-1));
    clock.pass(pauses.at(-1));
  }
  t.deepEqual(pauses, [500, 1000, 2000, 4000, 8000, 16_000]);
  t.is(streams, 3);
});

test('a long message has more time, by its length', async (t) => {
  const clock = new ManualClock();
  const { createClient } = await clientWith(clock);
  let stream;
  const posts = [];
  const fetched = (_url, { method, signal }) =>
    new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('aborted')));
      if (method === 'POST') return posts.push(resolve);
      const start = (controller) => {
        stream = controller;
      };
      return resolve({ status: 200, body: new ReadableStream({ start }) });
    });
  const client = createClient('ws://server/', { WebSocket: Blocked, fetch: fetched, fallback: 'sse' });
  t.teardown(() => client.close());
  await until(() => client.status === 'waiting', 'the end of the WebSocket');
  clock.pass(1000);
  await until(() => stream, 'the stream');
  const arrives = async (text) => {
    stream.enqueue(new TextEncoder().encode(text));
    await settled();
  };
  await arrives('data: {"t":"hi","v":1,"s":"1","k":"key"}\n\n');
  await until(() => client.status === 'open', 'the opening');
  // 160 KiB have ten seconds more than any message
  client.publish('a', new Uint8Array(160 * 1024)).catch(() => {});
  await until(() => posts.length === 1, 'the message');
  clock.pass(20_000);
  await arrives(': alive\n\n');
  clock.pass(9_900);
  t.is(client.status, 'open');
  posts[0]({ status: 204 });
  await settled();
  client.publish('a', 'short').catch(() => {});
  await until(() => posts.length === 2, 'the next message');
  await arrives(': alive\n\n');
  clock.pass(19_900);
  t.is(client.status, 'open');
  clock.pass(200);
  t.is(client.status, 'waiting');
});

test('it alternates: a WebSocket is used as soon as there is one', async (t) => {
  const { server, client } = await blocked(t, {}, { streamStatus: 503 });
  await until(() => client.status === 'waiting', 'the first failure');
  server.webSockets = true;
  t.is(await client.call('echo', 1, { timeoutMs: undefined }), 1);
  t.is(typeof server.current.key, 'undefined');
});

test('without the option there is no stream', async (t) => {
  const server = await V1Server.start(t, { webSockets: false });
  const fetched = [];
  const client = createClient(server.url, { WebSocket, fetch: (url) => fetched.push(url) });
  t.teardown(() => client.close());
  const waits = [];
  client.onStatus((status) => waits.push(status));
  await until(() => waits.filter((status) => status === 'waiting').length >= 3, 'three failures');
  t.deepEqual(fetched, []);
});

test('close ends the stream', async (t) => {
  const { server, client } = await blocked(t);
  const session = await server.connections(1);
  await until(() => client.status === 'open', 'the opening');
  client.close();
  await until(() => session.over, 'the end of the connection');
  t.is(server.sessions.length, 1);
});
