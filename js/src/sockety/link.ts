/** The thread that a connection with a socket belongs to. Types only. */

import type { NativeGateway } from '../addon/native-interface.js';
import type { Replies } from '../worker/replies.js';
import type { Tells } from '../worker/tells.js';
import type { Origin } from './contents.js';

/** What a connection needs of its thread. */
export interface Link extends Omit<Origin, 'kept' | 'saves'> {
  readonly gateway: NativeGateway;
  /** Collects what handlers send with `send`. */
  readonly replies: Replies;
  readonly tells: Tells;
  readonly socketId: number;
  /** The most data that `dataBuffer` collects, in bytes. */
  readonly maxDataSize: number;
}
