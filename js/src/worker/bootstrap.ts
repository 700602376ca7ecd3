/** The entry of worker threads, as a file of the package or as the text of `embedded.js`. Never loaded by applications. */

import { parentPort } from 'node:worker_threads';
import { ownWorkerData } from '../addon/runtime.js';
import { postable } from '../log/report.js';
import { bootWith } from './boot.js';
import type { FromWorker } from './messages.js';

const port = parentPort;
const data = ownWorkerData();
if (port === null || data === undefined) throw new Error('this file is the entry of worker threads');

// what handlers throw is told where its source is: TypeScript, bundles. Loading ours is done, so none of ours is looked up
process.setSourceMapsEnabled?.(true);

bootWith(data, port).catch((error: unknown) => {
  const failed: FromWorker = { type: 'failed', error: postable(error) };
  port.postMessage(failed);
});
