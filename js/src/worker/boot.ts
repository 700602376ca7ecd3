/**
 * Runs a worker on this thread, from its start to its end. In a bundle, one thread may have two copies of this code:
 * the copy that the thread was started with, and the copy in the bundle of the worker module. This file decides which
 * of them runs the worker.
 */

import type { MessagePort } from 'node:worker_threads';
import { binding } from '../addon/binding.js';
import { IS_BUNDLED } from '../addon/place.js';
import { hasCostlyResponse, hasUntypedResponse, ownWorkerData } from '../addon/runtime.js';
import type { MillraceError } from '../errors.js';
import { Gateway } from '../gateway/gateway.js';
import { setThreadGateway } from '../gateway/thread-gateway.js';
import { postable } from '../log/report.js';
import { installTextResponse } from './fetch/text-response.js';
import { Host } from './host.js';
import type { FromWorker, ToWorker, WorkerData } from './messages.js';

type Boot = (data: WorkerData, port: MessagePort) => Promise<void>;

/** Runs the worker. Resolves when it takes connections. */
async function boot({ gateway: id, module, arg, handlerTimeoutMs }: WorkerData, port: MessagePort): Promise<void> {
  const post = (message: FromWorker): void => port.postMessage(message);
  const report = (error: MillraceError): void => {
    const cause = error.cause === undefined ? undefined : postable(error.cause);
    post({ type: 'report', report: { code: error.code, message: error.message, cause } });
  };
  const native = binding().bind(id);
  const gateway = Gateway.ofWorker(native, id);
  setThreadGateway(gateway);
  if (hasCostlyResponse()) {
    const { installLightResponse }: typeof import('./fetch/light-response.js') = require('./fetch/light-response.js');
    installLightResponse();
  } else if (hasUntypedResponse()) installTextResponse();
  // a handler may end its thread: send what it has sent so far
  process.once('exit', () => gateway.flushReplies());
  const host = await Host.start({ native, gateway, module, arg, handlerTimeoutMs, report });
  port.on('message', async (message: ToWorker) => {
    if (message.type !== 'stop') return;
    await host.stop(message.ms, message.leave);
    await written();
    post({ type: 'stopped' });
  });
  post({ type: 'ready', worker: host.id });
}

/**
 * Resolves when everything that handlers printed is on its way. In Node.js output goes through the main thread, and
 * what has not left is lost when the thread ends.
 */
function written(): Promise<unknown> {
  const streams = [process.stdout, process.stderr];
  return Promise.all(streams.map((stream) => new Promise<void>((resolve) => stream.write('', () => resolve()))));
}

/**
 * Runs the worker with the worker module's own copy of this code, if it has one. Objects that the module makes, such as
 * a `Response` of Sockety, are instances of that copy's classes.
 */
export async function bootWith(data: WorkerData, port: MessagePort): Promise<void> {
  if (!IS_BUNDLED) return boot(data, port);
  await import(/* webpackIgnore: true */ data.module);
  return (copies[COPY] ?? boot)(data, port);
}

const COPY = Symbol.for('millrace.boot');
const copies = globalThis as { [COPY]?: Boot };

// the copy that is loaded last in a worker is the worker module's
if (ownWorkerData() !== undefined) copies[COPY] = boot;
