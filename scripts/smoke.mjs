// Tests packed tarballs like a user: installs them into an empty folder and lets two clients of the README's example
// talk to each other. `node scripts/smoke.mjs` uses the current runtime; after `--` you can name another one, such as
// an emulator with its program. `--platform linux-arm64-musl` installs what npm would install there.
import path from 'node:path';
import { parseArgs } from 'node:util';

import { project, runIn, serve } from '../__test__/support/installed.mjs';
import { fileOf } from '../__test__/support/markdown.mjs';
import { connect } from '../__test__/support/ws-client.mjs';
import { packedTarballs } from './pack.mjs';
import { Failure, fail } from './process.mjs';

const LIBC = { gnu: 'glibc', gnueabihf: 'glibc', musl: 'musl' };

/** The platform for which npm installs. */
function npmArguments(platform) {
  if (platform === undefined) return [];
  const [os, cpu, abi] = platform.split('-');
  return [`--os=${os}`, `--cpu=${cpu}`, ...(abi in LIBC ? [`--libc=${LIBC[abi]}`] : [])];
}

async function smoke() {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { platform: { type: 'string' } } });
  const command = positionals.length > 0 ? positionals : [process.execPath];
  const ends = [];
  const t = { teardown: (end) => ends.unshift(end) };
  try {
    const files = {
      'server.mjs': (await fileOf('README.md', 'server.mjs')).replace('localhost:3000', '127.0.0.1:0'),
      'worker.mjs': await fileOf('README.md', 'worker.mjs'),
      'about.mjs': ABOUT,
    };
    const folder = project(t, packedTarballs(), { npmArgs: npmArguments(values.platform), files });
    const { status, output } = runIn(folder, [...command, 'about.mjs']);
    if (status !== 0) throw new Failure(`the addon does not load:\n${output}`);
    console.log(output.trim());
    const address = await serve(t, folder, [...command, 'server.mjs']);
    const [one, two] = [await connect(t, address), await connect(t, address)];
    one.send('hello');
    const message = await two.text();
    if (!/^\d+: hello$/.test(message)) throw new Failure(`the second client heard ${JSON.stringify(message)}`);
    console.log(`${path.basename(command.at(-1))}: two clients heard each other`);
  } finally {
    for (const end of ends) await end();
  }
}

/** Prints the runtime, and checks that the addon loads on the main thread. */
const ABOUT = `
import { stats } from 'millrace';

const { bun, deno, node } = process.versions;
console.log(\`\${bun ? \`bun \${bun}\` : deno ? \`deno \${deno}\` : \`node \${node}\`}, \${process.platform}-\${process.arch}\`);
stats();
`;

await smoke().catch(fail);
