/** Which gateway the module functions of this thread use. */

import { binding } from '../addon/binding.js';
import { ownWorkerData } from '../addon/runtime.js';
import { Gateway } from './gateway.js';

let ofThisThread: Gateway | undefined;

/** The gateway that the module functions of this thread use. In a worker, only a second copy of the package makes one. */
export function threadGateway(): Gateway {
  if (ofThisThread) return ofThisThread;
  const id = ownWorkerData()?.gateway;
  const native = binding().bind(id ?? DEFAULT_GATEWAY);
  ofThisThread = id === undefined ? Gateway.create(native, DEFAULT_GATEWAY) : Gateway.ofWorker(native, id);
  return ofThisThread;
}

/** Makes this thread a worker of `gateway`. Called before the worker module is imported. */
export function setThreadGateway(gateway: Gateway): void {
  ofThisThread = gateway;
}

/** The id of the native side's first gateway. */
const DEFAULT_GATEWAY = 1;
