// The splice client with the WebSocket of each runtime, and in a browser.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';
import test from 'ava';

import { runtimePath } from '../../scripts/runtimes.mjs';
import { within } from '../support/deadline.mjs';
import { browserTests, launchBrowser } from '../support/example.mjs';
import { needingRuntime } from '../support/runtimes.mjs';
import { echo, listener } from '../support/splice-multiplexer.mjs';
import { SEEN } from '../support/splice-visit.mjs';
import { endWith } from '../support/teardown.mjs';

const SCRIPT = fileURLToPath(new URL('../support/scripts/splice-visit.mjs', import.meta.url));
/** In Node.js 20 the global needs a flag, which later versions accept, too. */
const ARGUMENTS = { node: ['--experimental-websocket'], bun: ['run'], deno: ['run', '-A', '--quiet'] };

for (const [runtime, args] of Object.entries(ARGUMENTS)) {
  needingRuntime(test.serial, runtime)(`${runtime}: all that a client does`, async (t) => {
    const [splice, target] = [await listener(t), await echo(t)];
    const child = spawn(runtimePath(runtime), [...args, SCRIPT, splice.url, target.url], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = endWith(t, child);
    const lines = [];
    readline.createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line);
      if (line === 'lose') splice.lose();
    });
    t.is(await within(exited, () => `the end, after ${lines}`), 0);
    t.deepEqual(JSON.parse(lines.at(-1)), SEEN);
  });
}

const FILES = {
  '/': ['text/html', () => '<!doctype html><title>splice</title>'],
  '/splice-client.mjs': [
    'text/javascript',
    () => readFile(new URL('../../js/dist/splice-client.mjs', import.meta.url)),
  ],
  '/visit.mjs': ['text/javascript', () => readFile(new URL('../support/splice-visit.mjs', import.meta.url))],
};

browserTests(test)('a browser: all that a client does', async (t) => {
  const [splice, target] = [await listener(t), await echo(t)];
  const server = http.createServer(async ({ url }, response) => {
    const [type, read] = FILES[url] ?? ['text/plain', () => ''];
    response.setHeader('Content-Type', type);
    response.end(await read());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const browser = await launchBrowser();
  t.teardown(() => browser.close());
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.exposeFunction('lose', () => splice.lose());
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const seen = await page.evaluate(
    async (urls) => {
      const [{ connect }, { visit }] = await Promise.all([import('/splice-client.mjs'), import('/visit.mjs')]);
      return visit(connect, { ...urls, lose: window.lose });
    },
    { mux: splice.url, target: target.url },
  );
  t.deepEqual(seen, SEEN);
});
