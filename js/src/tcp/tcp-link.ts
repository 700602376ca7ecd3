/** What a connection of raw TCP needs of the native side. Types only. */

import type { NativeGateway, NativeWorker } from '../addon/native-interface.js';

/** A socket, and the worker and the gateway that it belongs to. */
export interface Link {
  readonly worker: NativeWorker;
  readonly gateway: NativeGateway;
  readonly socketId: number;
}
