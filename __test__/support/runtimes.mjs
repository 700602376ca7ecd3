// The runtimes that the behavioural suite runs in. The tests themselves run in Node; only servers are started elsewhere.
import { cp, mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { runtimePath } from '../../scripts/runtimes.mjs';
import { ownServer } from './server.mjs';

function installed(runtime) {
  try {
    return runtimePath(runtime) !== undefined;
  } catch {
    return false;
  }
}

/** True: a runtime that is not installed fails its tests instead of skipping them. */
const REQUIRED = process.env.MILLRACE_REQUIRE_ALL === '1';

/**
 * Declares a test once for each runtime. `body` gets ava's `t`, the runtime's name, and `launch`: a server process in
 * that runtime, started with the given options if there are any.
 */
export function inEach(test, title, body) {
  for (const runtime of ['node', 'bun', 'deno']) {
    const declare = REQUIRED || installed(runtime) ? test.serial : test.serial.skip;
    declare(`${runtime}: ${title}`, async (t) => {
      const launch = (options, launchOptions) => ownServer(t, options, { runtime, ...launchOptions });
      await body(t, { runtime, launch });
    });
  }
}

/** Whether the runtime runs TypeScript without a build step. The servers' Node is the one that runs the tests. */
export const runsTypeScript = (runtime) => runtime !== 'node' || Boolean(process.features.typescript);

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/**
 * A second installation of the package, with what a server under test needs, removed with the test. `main` is its
 * server program, `addon` its native file, `loader` what finds that, `worker` gives its worker modules.
 */
export async function secondCopy(t) {
  // resolved, because a temporary folder may be behind a link and runtimes name files by their real path
  const folder = await realpath(await mkdtemp(path.join(os.tmpdir(), 'millrace-copy-')));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  for (const part of ['package.json', 'js/dist', 'js/native', '__test__/support']) {
    await cp(path.join(ROOT, part), path.join(folder, part), { recursive: true });
  }
  const native = path.join(folder, 'js/native');
  const addon = (await readdir(native)).find((name) => name.endsWith('.node'));
  const support = path.join(folder, '__test__/support');
  return {
    main: path.join(support, 'server-main.mjs'),
    addon: path.join(native, addon),
    worker: (name) => path.join(support, 'workers', `${name}.mjs`),
  };
}
