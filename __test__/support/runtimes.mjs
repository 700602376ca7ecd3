// The runtimes of the tests of behaviour. The tests themselves run in Node; only servers run in other runtimes.
import { cp, mkdtemp, readdir, realpath } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { runtimePath } from '../../scripts/runtimes.mjs';
import { unless } from './needing.mjs';
import { ownServer } from './server.mjs';
import { removeWith } from './teardown.mjs';

/** Tests in a runtime: not every platform has all runtimes. */
export function needingRuntime(test, runtime) {
  try {
    runtimePath(runtime);
    return test;
  } catch (error) {
    return unless(error.message, test);
  }
}

/**
 * Declares a test once for each runtime. `body` gets ava's `t`, the runtime's name, and `launch`, which starts a server
 * process in that runtime, with the given options if there are any. `only` limits the test to one runtime.
 */
export function inEach(test, title, body, { only } = {}) {
  for (const runtime of only === undefined ? ['node', 'bun', 'deno'] : [only]) {
    needingRuntime(test.serial, runtime)(`${runtime}: ${title}`, async (t) => {
      const launch = (options, launchOptions) => ownServer(t, options, { runtime, ...launchOptions });
      await body(t, { runtime, launch });
    });
  }
}

/** Whether the runtime runs TypeScript without a build step. The servers' Node is the one that runs the tests. */
export const runsTypeScript = (runtime) => runtime !== 'node' || Boolean(process.features.typescript);

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A folder that is removed with the test. */
async function temporary(t) {
  const folder = removeWith(t, await mkdtemp(path.join(os.tmpdir(), 'millrace-')));
  // resolved, because a temporary folder may be a link and runtimes use the real paths of files
  return realpath(folder);
}

/** Copies the package, and `more`, into `folder`; resolves with the path of its native file. */
async function copyPackage(folder, ...more) {
  for (const part of ['package.json', 'js/dist', 'js/native', ...more]) {
    await cp(path.join(ROOT, part), path.join(folder, part), { recursive: true });
  }
  const native = path.join(folder, 'js/native');
  const addon = (await readdir(native)).find((name) => name.endsWith('.node'));
  return path.join(native, addon);
}

/**
 * A second installation of the package, with the files of a server under test. `main` is its server program, `addon`
 * its native file, `worker` returns the paths of its worker modules.
 */
export async function secondCopy(t) {
  const folder = await temporary(t);
  const addon = await copyPackage(folder, '__test__/support');
  const support = path.join(folder, '__test__/support');
  return {
    main: path.join(support, 'server-main.mjs'),
    addon,
    worker: (name) => path.join(support, 'workers', `${name}.mjs`),
  };
}

/** A project that has the package in its node_modules, and the files of `support/project`. */
export async function project(t) {
  const folder = await temporary(t);
  await cp(path.join(ROOT, '__test__/support/project'), folder, { recursive: true });
  return { folder, addon: await copyPackage(path.join(folder, 'node_modules/millrace')) };
}
