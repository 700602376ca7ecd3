// Next.js with `output: 'standalone'`, as docs/bundlers.md says. Next.js is 350 MB and is downloaded only for this
// test, so the test runs only if MILLRACE_TEST_NEXT is set.
import { mkdirSync, mkdtempSync, renameSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'ava';

import { pack } from '../../scripts/pack.mjs';
import { npm } from '../../scripts/process.mjs';
import { commandsUnder, NEXT_IS_ASKED } from '../support/bundles.mjs';
import { project, runIn, serve, writeFiles } from '../support/installed.mjs';
import { fileOf } from '../support/markdown.mjs';
import { only } from '../support/platforms.mjs';
import { freePort } from '../support/ports.mjs';
import { remove, removeWith } from '../support/teardown.mjs';
import { connect } from '../support/ws-client.mjs';

const PAGE = 'docs/bundlers.md';
const asked = only(test.serial, NEXT_IS_ASKED, 'fetches Next.js: MILLRACE_TEST_NEXT=1');

const PAGES = {
  'layout.js': `
export default function Layout({ children }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  );
}
`,
  'page.js': `
export default function Page() {
  return <p>a page</p>;
}
`,
};

const out = mkdtempSync(path.join(os.tmpdir(), 'millrace-next-'));
test.after.always(() => remove(out));

/** Builds the page's files as an app; returns its standalone folder, moved away from all else. */
async function built(t, { files = {}, script = 'next build' } = {}) {
  const names = ['server.mjs', 'worker.mjs', 'next.config.mjs', 'instrumentation.js'];
  const own = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await fileOf(PAGE, name)])));
  const folder = project(t, pack({ out }), { files: { ...own, ...files } });
  const packages = ['next@16.4.6', 'react@19', 'react-dom@19'];
  const fetched = runIn(folder, npm('install', '--ignore-scripts', '--no-audit', '--no-fund', ...packages));
  t.is(fetched.status, 0, fetched.output);
  const scripts = runIn(folder, npm('pkg', 'set', `scripts.build=${script}`));
  t.is(scripts.status, 0, scripts.output);
  mkdirSync(path.join(folder, 'app'));
  writeFiles(path.join(folder, 'app'), PAGES);
  const [build] = await commandsUnder(PAGE, 'Next.js');
  const { status, output } = runIn(folder, ['sh', '-c', build], { NEXT_TELEMETRY_DISABLED: '1' });
  t.is(status, 0, output);
  const alone = removeWith(t, mkdtempSync(path.join(os.tmpdir(), 'millrace-standalone-')));
  renameSync(path.join(folder, '.next/standalone'), path.join(alone, 'standalone'));
  return path.join(alone, 'standalone');
}

async function works(t, folder) {
  const port = await freePort();
  const env = { BIND: '127.0.0.1:0', PORT: String(port), HOSTNAME: 'localhost' };
  const address = await serve(t, folder, [process.execPath, 'server.js'], env);
  const [one, two] = [await connect(t, address), await connect(t, address)];
  one.send('hello');
  t.regex(await two.text(), /^\d+: hello$/);
  t.regex(await (await fetch(`http://localhost:${port}/`)).text(), /a page/);
}

asked('standalone, built by Turbopack', async (t) => {
  await works(t, await built(t));
});

asked('standalone, built by webpack, with the worker module in the folder of the program', async (t) => {
  const server = await fileOf(PAGE, 'server.mjs');
  const config = await fileOf(PAGE, 'next.config.mjs');
  const files = {
    'server.mjs': server.replace("new URL('./worker.mjs', import.meta.url)", "process.cwd() + '/worker.mjs'"),
    'next.config.mjs': config.replace(' };', ", outputFileTracingIncludes: { '/*': ['./worker.mjs'] } };"),
  };
  await works(t, await built(t, { files, script: 'next build --webpack' }));
});
