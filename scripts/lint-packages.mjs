// Packs the tarballs and checks them before publication: publint checks package.json, and "are the types wrong" checks
// the types for each way of importing. Takes the arguments of scripts/pack.mjs.
import { pathToFileURL } from 'node:url';

import { pack, whichFrom } from './pack.mjs';
import { fail, run, tool } from './process.mjs';

/**
 * @param {{which?: 'here' | 'artifacts' | 'all'}} [options]
 * @throws {Failure} when something cannot be packed, or a check finds something
 */
export async function lintPackages({ which = 'here' } = {}) {
  const { main, platforms } = pack({ which });
  for (const tarball of [main, ...Object.values(platforms)]) {
    await run([...tool('publint'), 'run', tarball, '--strict', '--level', 'warning']);
  }
  // Node.js 10's resolution is left out: it does not support `exports`, and no supported runtime uses it.
  const attw = tool('@arethetypeswrong/cli', 'attw');
  const plain = process.stdout.isTTY ? [] : ['--no-color', '--format', 'ascii'];
  await run([...attw, main, '--profile', 'node16', '--no-definitely-typed', '--no-emoji', ...plain]);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    await lintPackages({ which: whichFrom(process.argv.slice(2)) });
  } catch (error) {
    fail(error);
  }
}
