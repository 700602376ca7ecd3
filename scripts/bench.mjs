// `npm run bench`: sets up, then runs the benchmark, to which every argument goes.
import path from 'node:path';

import { fail, ROOT, run } from './process.mjs';
import { setUp } from './setup.mjs';

async function bench() {
  await setUp();
  await run([process.execPath, path.join(ROOT, 'benchmark/run.mjs'), ...process.argv.slice(2)]);
}

await bench().catch(fail);
