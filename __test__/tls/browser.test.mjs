// A real browser on one TLS port: the WebSocket is a stream of the HTTP/2 connection that served the page.
import test from 'ava';

import { Authority } from '../support/certificates.mjs';
import { browserTests, Example, ended, launchBrowser } from '../support/example.mjs';
import { needing } from '../support/needing.mjs';
import { ownServer, worker } from '../support/server.mjs';
import { decode } from '../support/wire.mjs';

const inBrowser = needing(browserTests(test), 'openssl');
const OPTIONS = { workerPath: worker('commands'), threads: 1, ioThreads: 1 };
let identity;
let browser;
Authority.of(test, async (made) => {
  identity = await made.issue();
});
test.after.always(() => browser?.close());

/** Opens a page of the server, then a WebSocket from it; resolves with the protocol, and whether there was a key. */
async function visit(t, server) {
  browser ??= await launchBrowser();
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  t.teardown(() => context.close());
  const page = await context.newPage();
  const origin = `https://${server.addresses[0].replace('127.0.0.1', 'localhost')}`;
  const response = await page.goto(`${origin}/`);
  t.is(response.status(), 426);
  const { answer, protocol } = await page.evaluate(
    (url) =>
      new Promise((resolve, reject) => {
        const socket = new WebSocket(url);
        socket.onerror = () => reject(new Error('no WebSocket'));
        socket.onopen = () => socket.send(JSON.stringify({ cmd: 'openInfo', n: 1 }));
        socket.onmessage = ({ data }) => {
          const [navigation] = performance.getEntriesByType('navigation');
          resolve({ answer: data, protocol: navigation.nextHopProtocol });
          socket.close(1000);
        };
      }),
    origin.replace('https:', 'wss:'),
  );
  const { headers } = decode(JSON.parse(answer).value);
  // in HTTP/2 a browser sends no key, and handleOpen gets one of 16 zero bytes
  return { protocol, keyed: headers['sec-websocket-key'] !== Buffer.alloc(16).toString('base64') };
}

inBrowser('Chromium: page and WebSocket share an HTTP/2 connection', async (t) => {
  const server = await ownServer(t, { ...OPTIONS, tls: identity.files });
  t.deepEqual(await visit(t, server), { protocol: 'h2', keyed: false });
});

inBrowser('Chromium: the same over HTTP/1.1', async (t) => {
  const server = await ownServer(t, { ...OPTIONS, tls: { ...identity.files, http2: false } });
  t.deepEqual(await visit(t, server), { protocol: 'http/1.1', keyed: true });
});

inBrowser('Chromium: two people talk in the chat example, over wss: and HTTP/2', async (t) => {
  const { cert, key } = identity.files;
  const args = ['--port', '0', '--cert', cert, '--key', key];
  const chat = await Example.start('examples/chat/server.mjs', args, {}, /^.+: (https:\/\/\S+:\d+)\n/m);
  t.teardown(() => chat.kill());
  const anna = await join(t, chat.url, 'Anna');
  const ben = await join(t, chat.url, 'Ben');
  await anna.getByRole('textbox', { name: 'Message' }).fill('Is this line safe?');
  await anna.getByRole('button', { name: 'Send' }).click();
  await ben.locator('.entry .body').getByText('Is this line safe?', { exact: true }).waitFor();
  const loaded = await ben.evaluate(() =>
    performance.getEntries().flatMap(({ nextHopProtocol, name }) => (nextHopProtocol ? [[nextHopProtocol, name]] : [])),
  );
  t.true(loaded.length > 2);
  t.deepEqual(
    loaded.filter(([protocol]) => protocol !== 'h2'),
    [],
    'page, style and script came by HTTP/2',
  );
  t.is(await chat.end(), ended());
});

/** A page of the chat, in a room. */
async function join(t, url, alias) {
  browser ??= await launchBrowser();
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  t.teardown(() => context.close());
  const page = await context.newPage();
  await page.goto(`${url}/#safe`);
  await page.getByRole('textbox', { name: 'Your name' }).fill(alias);
  await page.getByRole('button', { name: 'Enter the room' }).click();
  await page.locator('[data-joined="true"]').waitFor();
  return page;
}
