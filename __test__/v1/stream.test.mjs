// Streams of Server-Sent Events that speak millrace.v1, and the POSTs of their clients.
import { once } from 'node:events';
import http from 'node:http';
import test from 'ava';
import { WebSocket } from 'ws';

import { until } from '../support/deadline.mjs';
import { BlockedWebSocket } from '../support/event-stream.mjs';
import { browserTests, launchBrowser } from '../support/example.mjs';
import { createClient } from '../support/millrace-client.mjs';
import { ownServer, sharedServer, worker } from '../support/server.mjs';
import { speak } from '../support/v1.mjs';

const channels = [
  ['kept:*', { history: { messages: 1000, ageMs: 600_000 }, clients: { subscribe: true, publish: true } }],
  ['room:*', { clients: { subscribe: true, publish: true } }],
  ['secret:*', {}],
];
const more = { events: true, channels, limits: { messageBytes: 100_000 } };
const server = sharedServer(test, { workerPath: worker('commands'), threads: 1, ioThreads: 2, ...more });

/** A client that can only use a stream. */
function visitor(t, options, to = server) {
  const client = createClient(`ws://${to.addresses[0]}/`, { WebSocket: BlockedWebSocket, fallback: 'sse', ...options });
  t.teardown(() => client.close());
  return client;
}

/** A stream as a plain request: `next()` is the next event's `[header, payload]`; `post` sends a message. */
async function stream(t, to = server, { url = '/events?v=1', headers = {} } = {}) {
  const leaving = new AbortController();
  t.teardown(() => leaving.abort());
  const at = `http://${to.addresses[0]}${url}`;
  const response = await fetch(at, { headers: { accept: 'text/event-stream', ...headers }, signal: leaving.signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const event = async () => {
    for (;;) {
      const end = text.indexOf('\n\n');
      if (end >= 0) {
        const whole = text.slice(0, end);
        text = text.slice(end + 2);
        if (whole !== ':') return whole;
        continue;
      }
      const { done, value } = await reader.read();
      if (done) return undefined;
      text += value;
    }
  };
  const next = async () => {
    const lines = (await event())?.split('\n').map((line) => line.replace(/^data: /, ''));
    return lines && [JSON.parse(lines[0]), lines.length > 1 ? lines.slice(1).join('\n') : undefined];
  };
  const post = (body, more = {}, key = `${stream.hi.s}.${stream.hi.k}`) =>
    fetch(at, { method: 'POST', body, headers: { 'millrace-socket': key, ...more } }).then(({ status }) => status);
  const stream = { response, event, next, post, leave: () => leaving.abort() };
  [stream.hi] = response.status === 200 ? await next() : [];
  return stream;
}

test('a client does over a stream all that it does over a WebSocket', async (t) => {
  const [one, two] = [visitor(t), visitor(t, { getToken: () => 'caf\u{e9}' })];
  const got = [];
  let stands = false;
  two.subscribe('kept:values', {
    onMessage: ({ data }) => got.push(data),
    onSubscribed: () => {
      stands = true;
    },
  });
  await until(() => stands, 'the subscription');
  const values = ['text', null, { deep: [1] }, 'cr\r\nlf', 'caf\u{e9}\n\u{1f600}', 'x'.repeat(90_000)];
  values.push(Uint8Array.of(0, 10, 13, 255), new Uint8Array(0), new Uint8Array(70_000).fill(13));
  for (const [index, value] of values.entries()) {
    const { position } = await one.publish('kept:values', value);
    t.is(position.offset, index + 1);
  }
  const texts = ['plain\r{text', '', ' leading', 'two\n\nlines\n'];
  for (const text of texts) await server.call('send', 'kept:values', text);
  await until(() => got.length === values.length + texts.length, 'all messages');
  t.deepEqual(got, [...values, ...texts]);
  const { publications } = await two.subscribe('kept:values').history({ limit: 3 });
  t.deepEqual(
    publications.map(({ data }) => data),
    values.slice(0, 3),
  );
  await t.throwsAsync(two.publish('secret:a', 1), { code: 'denied' });
  const direct = [];
  two.onMessage(({ data }) => direct.push(data));
  await server.call('send', Number(two.socketId), 'only for you');
  await until(() => direct.length === 1, 'the message for it alone');
  t.deepEqual(direct, ['only for you']);
});

test('a stream that is closed is made again, and nothing is lost or doubled', async (t) => {
  const [reader, writer] = [visitor(t), createClient(`ws://${server.addresses[0]}/`, { WebSocket })];
  t.teardown(() => writer.close());
  const got = [];
  let subscribed = 0;
  reader.subscribe('kept:again', {
    onMessage: ({ data }) => got.push(data),
    onGap: () => got.push('gap'),
    onSubscribed: () => {
      subscribed += 1;
    },
  });
  await until(() => subscribed === 1, 'the subscription');
  const expected = [];
  const publish = async () => {
    for (let index = 0; index < 3; index++) {
      expected.push(expected.length);
      await writer.publish('kept:again', expected.at(-1));
    }
  };
  for (let round = 1; round <= 5; round++) {
    await publish();
    await server.call('close', Number(reader.socketId), 1012, 'retry=1');
    await publish();
    await until(() => subscribed > round, 'the next subscription');
  }
  await until(() => got.length >= expected.length, 'all messages');
  t.deepEqual(got, expected);
});

test('the first message alone has the key', async (t) => {
  const { hi, post, next } = await stream(t);
  const { s, k, ...rest } = hi;
  t.deepEqual(rest, { t: 'hi', v: 1, ping: 25_000 });
  t.regex(k, /^[\w-]{22}$/);
  t.is(await post('{"t":"sub","id":1,"c":"room:post"}'), 204);
  t.deepEqual(await next(), [{ t: 'ok', id: 1 }, undefined]);
  t.is(await post('{"t":"pub","c":"room:post"}\n\0', { 'content-type': 'Application/Octet-Stream' }), 204);
  t.deepEqual(await next(), [{ c: 'room:post', b: 1 }, 'AA==']);
  t.is(await post('{"t":"pub","c":"room:post"}\na\rb'), 204);
  t.deepEqual(await next(), [{ c: 'room:post', b: 2 }, btoa('a\rb')]);
  t.is(await post('no header'), 204);
  t.is((await next())[0].code, 'bad');
});

test('a POST for no stream, or with another key, is 404', async (t) => {
  const [one, other] = [await stream(t), await stream(t)];
  const ping = '{"t":"ping"}';
  t.is(await one.post(ping), 204);
  const { s, k } = one.hi;
  for (const key of [`${s}.${other.hi.k}`, `${s}.${k}x`, `${s}.`, s, `.${k}`, '', `${s}0.${k}`]) {
    t.is(await one.post(ping, {}, key || 'x'), 404, key);
  }
  other.leave();
  await until(async () => (await other.post(ping)) === 404, 'the end of the stream');
  t.is(await one.post(ping), 204);
});

test('a POST obeys origins, messageBytes and messagesPerSecond', async (t) => {
  const limits = { messageBytes: 1000, messagesPerSecond: 20 };
  const origins = ['https://example.com'];
  const own = await ownServer(t, { workerPath: worker('no-handlers'), events: true, channels, limits, origins });
  const { post, next } = await stream(t, own);
  const ping = '{"t":"ping"}';
  t.is(await post(ping, { origin: 'https://example.org' }), 403);
  t.is(await post(ping, { origin: 'https://example.com' }), 204);
  t.is(await post(ping.padEnd(1001)), 413);
  t.is(await post(ping.padEnd(1000)), 204);
  const began = performance.now();
  for (let sent = 0; sent < 60; sent++) t.is(await post(ping), 204);
  for (let answered = 0; answered < 62; answered++) t.deepEqual(await next(), [{ t: 'pong' }, undefined]);
  t.true(performance.now() - began > 1000);
});

test('POSTs of a stream are received one at a time, in their order', async (t) => {
  const own = await ownServer(t, { workerPath: worker('no-handlers'), ioThreads: 1, ...more });
  const [one, other] = [await stream(t, own), await stream(t, own)];
  t.is(await one.post('{"t":"sub","id":1,"c":"room:order"}'), 204);
  t.is((await one.next())[0].t, 'ok');
  const message = (text) => `{"t":"pub","c":"room:order"}\n${text}`;
  const [host, port] = own.addresses[0].split(':');
  const headers = { 'millrace-socket': `${one.hi.s}.${one.hi.k}`, 'content-length': message('first').length };
  headers.expect = '100-continue';
  const first = http.request({ host, port, path: '/events?v=1', method: 'POST', headers, agent: false });
  first.on('error', () => {});
  t.teardown(() => first.destroy());
  first.flushHeaders();
  // its body is awaited, so it has its place
  await once(first, 'continue');
  let status;
  const second = one.post(message('second')).then((answered) => {
    status = answered;
  });
  for (let round = 0; round < 50; round++) {
    t.is(await other.post('{"t":"ping"}'), 204);
    await other.next();
  }
  t.is(status, undefined, 'it waits');
  first.end(message('first'));
  const [response] = await once(first, 'response');
  t.is(response.statusCode, 204);
  await second;
  t.is(status, 204);
  t.is((await one.next())[1], 'first');
  t.is((await one.next())[1], 'second');
});

test('a client whose stream is read slowly sends on', async (t) => {
  const { post, hi } = await stream(t);
  const other = await speak(t, server);
  await other.subscribe('room:slow');
  await server.call('send', Number(hi.s), 'x'.repeat(16 * 1024 * 1024));
  const waits = () => server.call('outboxBytes', Number(hi.s));
  await until(async () => (await waits()) > 1024 * 1024, 'the message to wait for its reader');
  for (let count = 0; count < 5; count++) {
    t.is(await post(`{"t":"pub","c":"room:slow"}\n${count}`), 204);
    t.deepEqual(await other.next(), [{ c: 'room:slow' }, `${count}`]);
  }
  t.true((await waits()) > 1024 * 1024);
});

test('a message that is too long for a POST ends the client, as over a WebSocket', async (t) => {
  const own = await ownServer(t, { workerPath: worker('no-handlers'), ...more, limits: { messageBytes: 1000 } });
  const client = visitor(t, {}, own);
  const told = [];
  client.onStatus((status, reason) => told.push([status, reason?.code]));
  await until(() => client.status === 'open', 'the stream');
  await t.throwsAsync(client.publish('room:long', 'x'.repeat(1000)), { code: 'closed' });
  t.deepEqual(told.at(-1), ['closed', 1009]);
});

test('the stream ends with the code of its close, and a POST without a stream is not allowed', async (t) => {
  const { hi, event } = await stream(t);
  await server.call('close', Number(hi.s), 4001, 'token expired');
  t.is(await event(), 'event: close\ndata: 4001 token expired');
  t.is(await event(), undefined);
  const { status } = await fetch(`http://${server.addresses[0]}/events?v=1`, { method: 'POST', body: '{}' });
  t.is(status, 405);
});

test('without channels for clients, the query belongs to the application', async (t) => {
  const own = await ownServer(t, { workerPath: worker('events'), events: true });
  const leaving = new AbortController();
  t.teardown(() => leaving.abort());
  for (const query of ['v=1', 'channel=room:1', 'channel=']) {
    const { status } = await fetch(`http://${own.addresses[0]}/events?${query}`, { signal: leaving.signal });
    t.is(status, 200);
  }
});

browserTests(test)('the client falls back to a stream in a browser', async (t) => {
  const folder = new URL('../../js/dist/', import.meta.url).pathname;
  const own = await ownServer(t, { workerPath: worker('no-handlers'), ...more, static: folder });
  const browser = await launchBrowser();
  t.teardown(() => browser.close());
  const page = await (await browser.newContext()).newPage();
  await page.goto(`http://${own.addresses[0]}/client.mjs`);
  const got = await page.evaluate(async () => {
    const { createClient } = await import('/client.mjs');
    class Blocked extends EventTarget {
      constructor() {
        super();
        setTimeout(() => this.dispatchEvent(new CloseEvent('close', { code: 1006 })));
      }

      close() {}
    }
    const client = createClient(location.origin, { WebSocket: Blocked, fallback: 'sse' });
    const got = [];
    await new Promise((resolve) => {
      client.subscribe('kept:page', {
        onSubscribed: async () => {
          await client.publish('kept:page', 'cr\r\n');
          await client.publish('kept:page', Uint8Array.of(13));
        },
        onMessage: ({ data, offset }) => {
          got.push([typeof data === 'string' ? data : [...data], offset]);
          if (offset === 2) resolve();
        },
      });
    });
    client.close();
    return got;
  });
  t.deepEqual(got, [
    ['cr\r\n', 1],
    [[13], 2],
  ]);
});

test('messages by POST count as those that are being received, and have no more room', async (t) => {
  const limits = { inboundTotalBytes: 400_000 };
  const own = await ownServer(t, { workerPath: worker('commands'), threads: 1, ioThreads: 2, ...more, limits });
  const received = async () => (await own.call('stats')).inboundBytes;
  const [one, other] = [await stream(t, own), await stream(t, own)];
  t.is(await one.post('{"t":"sub","id":1,"c":"room:bytes"}'), 204);
  t.is((await one.next())[0].t, 'ok');
  const [host, port] = own.addresses[0].split(':');
  const headers = { 'millrace-socket': `${one.hi.s}.${one.hi.k}`, 'content-length': 160_000 };
  const slow = http.request({ host, port, path: '/events?v=1', method: 'POST', headers, agent: false });
  slow.on('error', () => {});
  t.teardown(() => slow.destroy());
  const head = '{"t":"pub","c":"room:bytes"}\n';
  slow.write(head.padEnd(150_000, 'x'));
  await until(async () => (await received()) >= 150_000, 'what has arrived to count');
  const message = head.padEnd(100_000, 'y');
  t.is(await other.post(message), 503);
  t.is(await other.post('{"t":"ping"}'), 204, 'a short one needs no room');
  t.deepEqual(await other.next(), [{ t: 'pong' }, undefined]);
  slow.end('x'.repeat(10_000));
  t.is((await one.next())[1].length, 160_000 - head.length);
  t.is(await other.post(message), 204);
  t.is((await one.next())[1].length, 100_000 - head.length);
  await until(async () => (await received()) === 0, 'nothing to count any more');
});
