/** The entry of worker threads: binds the gateway, then imports the worker module. Never loaded by applications. */

import { parentPort, workerData } from 'node:worker_threads';
import { binding } from '../binding.js';
import type { MillraceError } from '../errors.js';
import { Gateway, setThreadGateway } from '../gateway.js';
import { postable } from '../report.js';
import { Host } from './host.js';
import type { FromWorker, ToWorker, WorkerData } from './messages.js';

const port = parentPort;
const data = workerData as WorkerData | null;
if (port === null || data?.millrace !== true) throw new Error('this file is the entry of worker threads');

function post(message: FromWorker): void {
  port?.postMessage(message);
}

function report(error: MillraceError): void {
  const cause = error.cause === undefined ? undefined : postable(error.cause);
  post({ type: 'report', report: { code: error.code, message: error.message, cause } });
}

async function run({ gateway: id, module, arg, handlerTimeoutMs }: WorkerData): Promise<void> {
  const native = binding().bind(id);
  const gateway = Gateway.ofWorker(native, id);
  setThreadGateway(gateway);
  // a handler may end its thread: what it sent before still goes out
  process.once('exit', () => gateway.flushReplies());
  const host = await Host.start({ native, gateway, module, arg, handlerTimeoutMs, report });
  port?.on('message', async (message: ToWorker) => {
    if (message.type !== 'stop') return;
    await host.stop(message.ms, message.leave);
    post({ type: 'stopped' });
  });
  post({ type: 'ready', worker: host.id });
}

run(data).catch((error: unknown) => post({ type: 'failed', error: postable(error) }));
