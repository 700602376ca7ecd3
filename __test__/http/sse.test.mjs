// Server-Sent Events: sockets that only receive, through a real client of that format and through plain requests.
import { once } from 'node:events';
import http from 'node:http';
import test from 'ava';
import { EventSource } from 'eventsource';

import { until } from '../support/deadline.mjs';
import { open, ownServer, worker } from '../support/server.mjs';

const options = (more) => ({ workerPath: worker('events'), threads: 2, ioThreads: 2, events: true, ...more });
const at = (server, where) => `http://${server.addresses[0]}${where}`;

/** What a key holds, once it does. */
async function key(server, name) {
  let value;
  while (value === undefined) value = await server.call('getKey', name);
  return JSON.parse(new TextDecoder().decode(value));
}

/** A stream's events, one after the other. */
function listen(t, url, more) {
  const source = new EventSource(url, more);
  t.teardown(() => source.close());
  const events = [];
  const waiting = [];
  const take = (event) => {
    const entry = { type: event.type, data: event.data };
    const next = waiting.shift();
    if (next === undefined) events.push(entry);
    else next(entry);
  };
  for (const type of ['message', 'binary', 'close']) source.addEventListener(type, take);
  const next = () => (events.length > 0 ? events.shift() : new Promise((resolve) => waiting.push(resolve)));
  return { source, next, opened: once(source, 'open') };
}

/** A plain request; the body as it arrives. */
async function request(t, server, where, { method = 'GET', headers = { accept: 'text/event-stream' } } = {}) {
  const [host, port] = server.addresses[0].split(':');
  const asked = http.request({ host, port, method, path: where, headers, agent: false });
  asked.end();
  t.teardown(() => asked.destroy());
  const [response] = await once(asked, 'response');
  response.setEncoding('utf8');
  return response;
}

async function whole(response) {
  let text = '';
  for await (const chunk of response) text += chunk;
  return text;
}

test('a broadcast reaches WebSockets and event streams, text and binary', async (t) => {
  const server = await ownServer(t, options());
  const stream = listen(t, at(server, '/events?name=a&wish=greet'));
  t.deepEqual(await stream.next(), { type: 'message', data: 'welcome' });
  const ws = await open(t, server, { path: '/?name=b' });
  for (const text of ['hello', 'grüße 🎈', '', 'two\nlines\n', 'data: not a field']) {
    ws.send(text);
    t.is(await ws.text(), text);
    t.deepEqual(await stream.next(), { type: 'message', data: text });
  }
  ws.send('a\r\nb\rc');
  t.is(await ws.text(), 'a\r\nb\rc');
  t.is((await stream.next()).data, 'a\nb\nc');
  ws.send(Buffer.from([0, 255, 10, 13]));
  await ws.next();
  t.deepEqual(await stream.next(), { type: 'binary', data: Buffer.from([0, 255, 10, 13]).toString('base64') });
  const { socketId } = await key(server, 'open a');
  t.is(await server.call('send', socketId, 'to you'), 1);
  t.is((await stream.next()).data, 'to you');
  const large = 'x'.repeat(1_000_000);
  ws.send(large);
  await ws.text();
  t.is((await stream.next()).data, large);
});

test("handleOpen gets the client's transport and port", async (t) => {
  const server = await ownServer(t, options());
  const ws = await open(t, server, { path: '/?name=ws' });
  const { transport, port } = await key(server, 'open ws');
  t.deepEqual([transport, port], ['websocket', ws.localPort]);
  listen(t, at(server, '/events?name=sse'));
  const told = await key(server, 'open sse');
  t.is(told.transport, 'sse');
  t.true(told.port > 0 && told.port !== port);
});

test('the answer of an accepted stream', async (t) => {
  const server = await ownServer(t, options());
  const response = await request(t, server, '/events?name=a&wish=greet', { headers: { 'last-event-id': '17' } });
  t.is(response.statusCode, 200);
  t.is(response.headers['content-type'], 'text/event-stream');
  t.is(response.headers['cache-control'], 'no-store');
  t.is(response.headers.connection, 'close');
  const opened = await key(server, 'open a');
  t.is(opened.last, '17');
  t.is(response.headers['x-seen'], String(opened.socketId));
  const [chunk] = await once(response, 'data');
  t.is(chunk, 'data: welcome\n\n');
});

test('refusals: by the application, the method, Accept, an origin, a subprotocol', async (t) => {
  const server = await ownServer(t, options({ origins: ['https://example.org'] }));
  const refused = await request(t, server, '/events?wish=refuse');
  t.is(refused.statusCode, 401);
  t.is(refused.headers['www-authenticate'], 'Bearer');
  t.is(await whole(refused), 'who are you?');
  const post = await request(t, server, '/events', { method: 'POST' });
  t.is(post.statusCode, 405);
  t.is(post.headers.allow, 'GET');
  const html = await request(t, server, '/events', { headers: { accept: 'text/html' } });
  t.is(html.statusCode, 406);
  const origin = await request(t, server, '/events', { headers: { origin: 'https://evil.example' } });
  t.is(origin.statusCode, 403);
  const protocol = await request(t, server, '/events?wish=protocol');
  t.is(protocol.statusCode, 500);
  for (const response of [post, html, origin, protocol]) await whole(response);
  while ((await server.call('stats')).sockets > 0);
  t.pass();
});

test('a refused stream gives nothing away: the connection ends, the next one is served', async (t) => {
  const server = await ownServer(t, options());
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  const ask = async (where) => {
    const asked = http.get(at(server, where), { agent, headers: { accept: 'text/event-stream' } });
    const [response] = await once(asked, 'response');
    return response;
  };
  for (let round = 0; round < 2; round++) {
    const refused = await ask('/events?wish=refuse');
    t.is(refused.statusCode, 401);
    t.is(refused.headers.connection, 'close');
    t.is(await whole(refused), 'who are you?');
  }
  const accepted = await ask('/events?name=a');
  t.is(accepted.statusCode, 200);
  accepted.destroy();
  t.is((await key(server, 'close a')).code, 1006);
  await until(async () => (await server.call('stats')).connections === 0, 'the connection to be gone');
});

test('a client that disconnects is closed with 1006, and its subscriptions end', async (t) => {
  const server = await ownServer(t, options());
  const { source, opened } = listen(t, at(server, '/events?name=a'));
  await opened;
  t.true(await server.call('hasSubscriptions', 'news'));
  source.close();
  t.is((await key(server, 'close a')).code, 1006);
  t.false(await server.call('hasSubscriptions', 'news'));
  await until(async () => (await server.call('stats')).sockets === 0, 'the socket to be gone');
});

test('the application closes a stream: the last event says why, then the answer ends', async (t) => {
  const server = await ownServer(t, options());
  const response = await request(t, server, '/events?name=a');
  const { socketId } = await key(server, 'open a');
  t.true(await server.call('close', socketId, 4000, 'enough'));
  t.is(await whole(response), 'event: close\ndata: 4000 enough\n\n');
  t.true(response.complete);
  t.is((await key(server, 'close a')).code, 4000);
  const early = await request(t, server, '/events?name=b&wish=close');
  t.is(early.statusCode, 403);
  await whole(early);
});

test('server.stop() says 1001 and ends the streams', async (t) => {
  const server = await ownServer(t, options());
  const response = await request(t, server, '/events?name=a');
  await key(server, 'open a');
  const stopped = server.stop();
  t.regex(await whole(response), /^event: close\ndata: 1001/);
  await stopped;
});

test('a heartbeat is sent every pingIntervalMs, and clients need not answer it', async (t) => {
  const server = await ownServer(t, options({ limits: { pingIntervalMs: 100, pongTimeoutMs: 100 } }));
  const response = await request(t, server, '/events?name=a');
  let text = '';
  for await (const chunk of response) {
    text += chunk;
    if (text.length >= 5 * ':\n\n'.length) break;
  }
  t.regex(text, /^(:\n\n){5}/);
});

test('a client that reads nothing costs its outbox, then is closed with 1013', async (t) => {
  const server = await ownServer(t, options({ limits: { outboxBytes: 1_000_000 } }));
  const response = await request(t, server, '/events?name=slow');
  response.pause();
  const { socketId } = await key(server, 'open slow');
  const text = 'z'.repeat(100_000);
  let sent = 0;
  while ((await server.call('stats')).overflowCloses === 0) sent += await server.call('send', socketId, text);
  t.true(sent > 10);
  t.is((await key(server, 'close slow')).code, 1013);
});

test('off by default, and on another path', async (t) => {
  const plain = await ownServer(t, options({ events: undefined }));
  const none = await request(t, plain, '/events');
  t.not(none.statusCode, 200);
  await whole(none);
  const server = await ownServer(t, options({ events: '/stream/of/events' }));
  const response = await request(t, server, '/stream/of/events?name=a&wish=greet');
  t.is(response.statusCode, 200);
  const [chunk] = await once(response, 'data');
  t.is(chunk, 'data: welcome\n\n');
});
