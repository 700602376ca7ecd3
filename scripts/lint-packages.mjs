// Checks the tarballs as they would be published: publint for what package.json promises, "are the types wrong" for
// the types that each way of importing finds. Packs them first; its arguments are those of scripts/pack.mjs.
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
  // Node.js 10's resolution is left out: it knows no `exports`, and no supported runtime uses it.
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
