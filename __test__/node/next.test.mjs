// A Next.js app, built and then run unchanged in a worker: pages, assets and routes are the same as on `node:http`.
import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';

import { ask } from '../support/ask.mjs';
import { run } from '../support/node-pair.mjs';
import { only } from '../support/platforms.mjs';
import { ownServer, RUNTIME, worker } from '../support/server.mjs';

const sources = fileURLToPath(new URL('../support/next-app', import.meta.url));
const packages = fileURLToPath(new URL('../../node_modules', import.meta.url));
const command = fileURLToPath(import.meta.resolve('next/dist/bin/next'));
const env = { ...process.env, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' };

const inNode = only(test, RUNTIME === 'node', 'Next.js builds in Node.js');

inNode('Next.js', async (t) => {
  t.timeout(300_000, 'the build takes its time');
  const folder = await mkdtemp(path.join(tmpdir(), 'millrace-next-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  await cp(sources, folder, { recursive: true });
  await symlink(packages, path.join(folder, 'node_modules'), 'junction');
  await promisify(execFile)(process.execPath, [command, 'build'], { cwd: folder, env, timeout: 240_000 });
  const server = await ownServer(t, { workerPath: worker('node-next'), workerArg: folder, threads: 1 }, { env });
  const [address] = server.addresses;
  const reference = (await ask(address, '/reference')).text;
  const page = (await ask(address, '/about')).text;
  const [, asset] = /src="(\/_next\/static\/chunks\/main[^"]+)"/.exec(page);
  const program = {
    requests: [
      ['GET /?a=b', { 'User-Agent': 'test' }],
      ['HEAD /'],
      ['GET /about'],
      ['GET /about', { 'Accept-Encoding': 'gzip' }],
      ['GET /about/'],
      [`GET ${asset}`, { 'Accept-Encoding': 'gzip' }],
      [`GET ${asset}`, { Range: 'bytes=0-9' }],
      ['GET /api/echo?x=1&x=2', { Cookie: 'a=b' }],
      ['POST /api/echo', { 'Content-Type': 'application/json' }, '{"a":1}'],
      ['POST /api/echo', { 'Content-Type': 'application/json' }, '{'],
      ['GET /_next/static/none.js'],
      ['GET /none'],
      ['GET /%'],
    ],
  };
  const expected = await run(reference, 'next', program);
  const answers = await run(address, 'next', program);
  for (const [index, [line]] of program.requests.entries()) t.deepEqual(answers[index], expected[index], line);
  t.deepEqual([expected[0].status, expected[7].status, expected[8].status], [200, 200, 201]);
});
