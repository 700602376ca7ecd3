// The client with the WebSocket and the fetch of each runtime, in a browser, and without what React Native lacks.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { WebSocket } from 'ws';

import { runtimePath } from '../../scripts/runtimes.mjs';
import { SEEN, visit } from '../support/client-visit.mjs';
import { within } from '../support/deadline.mjs';
import { browserTests, launchBrowser } from '../support/example.mjs';
import { createClient } from '../support/millrace-client.mjs';
import { needingRuntime } from '../support/runtimes.mjs';
import { endWith } from '../support/teardown.mjs';
import { V1Server } from '../support/v1-server.mjs';

const SCRIPT = fileURLToPath(new URL('../support/scripts/client-visit.mjs', import.meta.url));
/** In Node.js 20 the global needs a flag, which later versions accept, too. */
const ARGUMENTS = { node: ['--experimental-websocket'], bun: ['run'], deno: ['run', '-A', '--quiet'] };

/** A server for a visit. */
async function visited(t, options) {
  const server = await V1Server.start(t, options);
  server.methods['ask me'] = (number, session, id) => {
    session.call('double', number).then(({ payload }) => session.send({ t: 'ok', id }, payload));
  };
  return server;
}

const publish = (server, text) => server.publish('room', text);

/** What every client shows of itself: the runtimes differ in whether they are told of the first attempt to connect. */
function agree(t, server, seen, expected = SEEN) {
  t.deepEqual(seen, expected);
  t.deepEqual(server.violations, []);
}

for (const [runtime, args] of Object.entries(ARGUMENTS)) {
  for (const fallback of [undefined, 'sse']) {
    needingRuntime(test.serial, runtime)(
      `${runtime}: all that a client does${fallback ? ', over a stream' : ''}`,
      async (t) => {
        const server = await visited(t, { webSockets: !fallback });
        const child = spawn(runtimePath(runtime), [...args, SCRIPT, server.url, ...(fallback ? [fallback] : [])], {
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        const exited = endWith(t, child);
        const lines = [];
        readline.createInterface({ input: child.stdout }).on('line', (line) => {
          lines.push(line);
          if (line === 'cut') server.current.cut();
          else if (line.startsWith('publish ')) publish(server, line.slice(8));
        });
        t.is(await within(exited, () => `the end, after ${lines}`), 0);
        const seen = JSON.parse(lines.at(-1));
        if (!fallback) return agree(t, server, seen);
        // it tries a WebSocket first, also behind the lost stream
        const statuses = ['open', 'waiting', 'connecting', 'waiting', 'connecting', 'open', 'closed'];
        seen.statuses = seen.statuses.slice(-statuses.length);
        agree(t, server, seen, { ...SEEN, statuses });
      },
    );
  }
}

test.serial('it needs no TextDecoder, crypto, URL or structured clone over a WebSocket', async (t) => {
  const server = await visited(t);
  const names = ['TextDecoder', 'URL', 'structuredClone', 'AbortController', 'fetch'];
  const before = names.map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)]);
  const restore = () => {
    for (const [name, descriptor] of before) Object.defineProperty(globalThis, name, descriptor);
  };
  t.teardown(restore);
  class Quiet extends WebSocket {
    constructor(...given) {
      restore();
      super(...given);
      for (const name of names) delete globalThis[name];
    }
  }
  const cut = () => {
    restore();
    server.current.cut();
  };
  const seen = await visit(createClient, {
    url: server.url,
    options: { WebSocket: Quiet },
    cut,
    publish: (text) => publish(server, text),
  });
  restore();
  agree(t, server, seen);
});

const FILES = {
  '/': ['text/html', () => '<!doctype html><title>client</title>'],
  '/client.mjs': ['text/javascript', () => readFile(new URL('../../js/dist/client.mjs', import.meta.url))],
  '/visit.mjs': ['text/javascript', () => readFile(new URL('../support/client-visit.mjs', import.meta.url))],
};

browserTests(test)('a browser: all that a client does', async (t) => {
  const server = await visited(t);
  const files = http.createServer(async ({ url }, response) => {
    const [type, read] = FILES[url] ?? ['text/plain', () => ''];
    response.setHeader('Content-Type', type);
    response.end(await read());
  });
  files.listen(0, '127.0.0.1');
  await once(files, 'listening');
  t.teardown(() => files.close());
  const browser = await launchBrowser();
  t.teardown(() => browser.close());
  const page = await (await browser.newContext()).newPage();
  await page.exposeFunction('cut', () => server.current.cut());
  await page.exposeFunction('publish', (text) => void publish(server, text));
  await page.goto(`http://127.0.0.1:${files.address().port}/`);
  const seen = await page.evaluate(async (url) => {
    const [{ createClient }, { visit }] = await Promise.all([import('/client.mjs'), import('/visit.mjs')]);
    return visit(createClient, { url, cut: window.cut, publish: window.publish });
  }, server.url);
  agree(t, server, seen);
  t.is(Buffer.from(server.offers[0][1].slice(6), 'base64url').toString(), 'caf\u{e9}');
});
