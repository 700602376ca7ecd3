/** The entry of worker threads: binds the gateway, then imports the worker module. Never loaded by applications. */

import { parentPort } from 'node:worker_threads';
import { binding } from '../binding.js';
import type { MillraceError } from '../errors.js';
import { Gateway, setThreadGateway } from '../gateway.js';
import { postable } from '../report.js';
import { hasCostlyResponse, ownWorkerData } from '../runtime.js';
import { installLightResponse } from './fetch/light-response.js';
import { Host } from './host.js';
import type { FromWorker, ToWorker, WorkerData } from './messages.js';

const port = parentPort;
const data = ownWorkerData();
if (port === null || data === undefined) throw new Error('this file is the entry of worker threads');

function post(message: FromWorker): void {
  port?.postMessage(message);
}

function report(error: MillraceError): void {
  const cause = error.cause === undefined ? undefined : postable(error.cause);
  post({ type: 'report', report: { code: error.code, message: error.message, cause } });
}

/** What handlers printed is on its way: in Node.js it goes through the main thread, and is lost with the thread. */
function written(): Promise<unknown> {
  const streams = [process.stdout, process.stderr];
  return Promise.all(streams.map((stream) => new Promise<void>((resolve) => stream.write('', () => resolve()))));
}

async function run({ gateway: id, module, arg, handlerTimeoutMs }: WorkerData): Promise<void> {
  const native = binding().bind(id);
  const gateway = Gateway.ofWorker(native, id);
  setThreadGateway(gateway);
  if (hasCostlyResponse()) installLightResponse();
  // a handler may end its thread: what it sent before still goes out
  process.once('exit', () => gateway.flushReplies());
  const host = await Host.start({ native, gateway, module, arg, handlerTimeoutMs, report });
  port?.on('message', async (message: ToWorker) => {
    if (message.type !== 'stop') return;
    await host.stop(message.ms, message.leave);
    await written();
    post({ type: 'stopped' });
  });
  post({ type: 'ready', worker: host.id });
}

// what handlers throw is told where its source is: TypeScript, bundles. Loading ours is done, so none of ours is looked up
process.setSourceMapsEnabled?.(true);

run(data).catch((error: unknown) => post({ type: 'failed', error: postable(error) }));
