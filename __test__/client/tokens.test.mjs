// `getToken` with a worker: the token arrives by WebSocket and by stream, and one that is refused ends the client.
import test from 'ava';
import { WebSocket } from 'ws';

import { until } from '../support/deadline.mjs';
import { BlockedWebSocket } from '../support/event-stream.mjs';
import { browserTests, launchBrowser } from '../support/example.mjs';
import { createClient } from '../support/millrace-client.mjs';
import { sharedServer, worker } from '../support/server.mjs';

const server = sharedServer(test, {
  workerPath: worker('client-tokens'),
  threads: 1,
  ioThreads: 2,
  events: true,
  static: new URL('../../js/dist/', import.meta.url).pathname,
  channels: [['room:*', { clients: { subscribe: true } }]],
});

for (const [transport, options] of [
  ['websocket', { WebSocket }],
  ['sse', { WebSocket: BlockedWebSocket, fallback: 'sse' }],
]) {
  /** A client, how often it asked for its token, and what became of it. */
  const visitor = (t, ...tokens) => {
    const seen = { asked: 0, closed: [] };
    const getToken = async () => tokens[Math.min(seen.asked++, tokens.length - 1)];
    const client = createClient(`ws://${server.addresses[0]}/`, { ...options, getToken });
    t.teardown(() => client.close());
    client.onStatus((status, reason) => {
      if (status === 'closed') seen.closed.push(reason);
    });
    return { client, seen };
  };

  test(`${transport}: the worker gets the token`, async (t) => {
    const user = transport === 'sse' ? 'Ada=' : 'caf\u{e9} \u{1f600}??>';
    const { client } = visitor(t, `${user}|right`);
    t.deepEqual(await client.call('who'), { user, transport });
  });

  test(`${transport}: a token that is refused ends the client, which says why`, async (t) => {
    const { client, seen } = visitor(t, 'Ada|wrong');
    const waiting = t.throwsAsync(client.call('who'), { code: 'closed' });
    const room = client.subscribe('room:1', { onError: ({ code }) => seen.closed.push(code) });
    await until(() => seen.closed.length === 2, 'the end');
    t.deepEqual(seen.closed, ['closed', { code: 4001, reason: 'the token was refused' }]);
    await waiting;
    t.is(client.status, 'closed');
    // the stream is its second attempt, after the WebSocket that was blocked
    t.is(seen.asked, transport === 'sse' ? 2 : 1);
    room.close();
  });

  test(`${transport}: without a token it is a wrong one`, async (t) => {
    const { seen } = visitor(t, undefined);
    await until(() => seen.closed.length === 1, 'the end');
    t.is(seen.closed[0].code, 4001);
  });
}

test('websocket: why an upgrade is refused is not seen, so another token is asked for', async (t) => {
  let asked = 0;
  const getToken = () => ['Ada|unwanted', 'Ada|unwanted', 'Ada|right'][asked++];
  const client = createClient(`ws://${server.addresses[0]}/`, { WebSocket, getToken });
  t.teardown(() => client.close());
  t.like(await client.call('who'), { user: 'Ada' });
  t.is(asked, 3);
});

test('sse: a stream that is refused ends the client', async (t) => {
  const options = { WebSocket: BlockedWebSocket, fallback: 'sse', getToken: () => 'Ada|unwanted' };
  const client = createClient(`ws://${server.addresses[0]}/`, options);
  const told = new Promise((resolve) => {
    client.onStatus((status, reason) => status === 'closed' && resolve(reason));
  });
  t.deepEqual(await told, { code: 4001, reason: 'HTTP 401' });
});

browserTests(test)('a page sees that its token was refused', async (t) => {
  const browser = await launchBrowser();
  t.teardown(() => browser.close());
  const page = await (await browser.newContext()).newPage();
  await page.goto(`http://${server.addresses[0]}/client.mjs`);
  const seen = await page.evaluate(async () => {
    const { createClient } = await import('/client.mjs');
    const end = (token) =>
      new Promise((resolve) => {
        const client = createClient(location.origin, { getToken: () => token });
        client.onStatus((status, reason) => status === 'closed' && resolve(reason));
        client.call('who').then((who) => {
          resolve(who);
          client.close();
        }, Object);
      });
    return [await end('Ada|right'), await end('Ada|wrong')];
  });
  t.deepEqual(seen, [
    { user: 'Ada', transport: 'websocket' },
    { code: 4001, reason: 'the token was refused' },
  ]);
});
