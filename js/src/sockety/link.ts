/** What a connection has once its socket is there: the thread that it belongs to. Types only. */

import type { NativeGateway } from '../addon/native-interface.js';
import type { Replies } from '../worker/replies.js';
import type { Tells } from '../worker/tells.js';
import type { Origin } from './contents.js';

/** What a connection needs of the thread that it belongs to. */
export interface Link extends Omit<Origin, 'kept' | 'saves'> {
  readonly gateway: NativeGateway;
  /** What handlers send with `send`. */
  readonly replies: Replies;
  readonly tells: Tells;
  readonly socketId: number;
  /** The most data that is collected for `dataBuffer`, in bytes. */
  readonly maxDataSize: number;
}
