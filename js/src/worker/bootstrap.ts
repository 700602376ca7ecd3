/** The entry of worker threads: a file of the package, or the text in `embedded.js`. Applications never load it. */

import { parentPort } from 'node:worker_threads';
import { ownWorkerData } from '../addon/runtime.js';
import { postable } from '../log/report.js';
import { bootWith } from './boot.js';
import type { FromWorker } from './messages.js';

const port = parentPort;
const data = ownWorkerData();
if (port === null || data === undefined) throw new Error('this file is the entry of worker threads');

// stack traces of handlers name the source, also of TypeScript and bundles. Our own code is loaded by now, so its
// source maps are not read
process.setSourceMapsEnabled?.(true);

bootWith(data, port).catch((error: unknown) => {
  const failed: FromWorker = { type: 'failed', error: postable(error) };
  port.postMessage(failed);
});
