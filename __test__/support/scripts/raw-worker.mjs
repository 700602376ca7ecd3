// Starts a worker thread of Millrace directly, with invalid preconditions: its module cache already contains the
// `stale` addon files as objects without functions; `otherAddon` is a second image of the addon, of which the thread
// gets the native state but not the file. Resolves with its first message and the states of both images.
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

import { binding } from '../../../js/dist/addon/binding.js';

const BOOTSTRAP = fileURLToPath(new URL('../../../js/dist/worker/bootstrap.js', import.meta.url));
const MODULE = new URL('../workers/native-state.mjs', import.meta.url).href;

/** Runs in the thread before the bootstrap, and fills the module cache as one runtime was observed to do. */
function poison(files, bootstrap) {
  for (const file of files) {
    require.cache[file] = Object.assign(new (require('node:module'))(file), {
      exports: {},
      loaded: true,
      filename: file,
    });
    if (Object.keys(require(file)).length > 0) throw new Error('the module cache was not used');
  }
  require(bootstrap);
}

export default async function rawWorker(_millrace, { stale = [], otherAddon }) {
  const here = binding();
  const native = { state: here.state, file: here.file };
  if (otherAddon !== undefined) {
    const other = { exports: {} };
    process.dlopen(other, otherAddon);
    native.state = other.exports.state;
  }
  const workerData = { millrace: true, native, gateway: 1, module: MODULE, arg: undefined, handlerTimeoutMs: 5000 };
  const code = `(${poison})(${JSON.stringify(stale)}, ${JSON.stringify(BOOTSTRAP)})`;
  const worker = new Worker(code, { eval: true, workerData });
  const message = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
  await worker.terminate();
  return { message, states: [here.state, native.state] };
}
