/** What calling a draft makes: a message or a response that can be sent any number of times. Sends nothing itself. */

import type { FileTransfer } from './file-transfer.js';
import type { FixedData } from './fixed-data.js';
import type { UUID } from './uuid.js';

/** The argument of `send` and `pass`, made by calling a `Draft`. It gets a new id each time it is sent. */
export class Producer {
  /** The action in UTF-8. Empty for a response. */
  readonly action: Buffer;
  /** The id of the message that a response answers. Undefined for a message. */
  readonly parentId: UUID | undefined;
  /** The data. Undefined: there is none. */
  readonly data: Buffer | undefined;
  /** @internal The same data, if the native side may keep a copy. */
  readonly fixed: FixedData | undefined;
  /** The files, in the order in which the other side gets them. */
  readonly files: readonly FileTransfer[];
  /** Whether the sender writes a stream. */
  readonly hasStream: boolean;

  /** @internal */
  constructor(action: Buffer, parentId: UUID | undefined, contents: ProducerContents) {
    this.action = action;
    this.parentId = parentId;
    this.data = contents.data;
    this.fixed = contents.fixed;
    this.files = contents.files ?? NO_FILES;
    this.hasStream = contents.hasStream;
  }
}

/** The contents of a message. */
export interface ProducerContents {
  readonly data: Buffer | undefined;
  readonly fixed: FixedData | undefined;
  readonly files: readonly FileTransfer[] | undefined;
  readonly hasStream: boolean;
}

/** Several producers that are sent one after the other. `series` makes it. */
export class Series {
  /** The producers in the order in which they are sent. */
  readonly producers: readonly (Producer | Series | Heartbeat)[];

  /** @internal */
  constructor(producers: readonly (Producer | Series | Heartbeat)[]) {
    this.producers = producers;
  }
}

/**
 * Combines several messages, of which none expects an answer, into one argument of `pass`. They are sent one after the
 * other.
 *
 * @throws {TypeError} for an argument that is not a producer
 */
export function series(...producers: (Producer | Series | Heartbeat)[]): Series {
  for (const [index, one] of producers.entries()) {
    if (one instanceof Producer || one instanceof Series || one instanceof Heartbeat) continue;
    throw new TypeError(`argument ${index + 1} of series must be the result of calling a Draft`);
  }
  return new Series([...producers]);
}

/** The type of `heartbeat`. */
export class Heartbeat {
  /** @internal */
  readonly isHeartbeat = true;
}

/** A heartbeat, for `pass`. Connections send heartbeats on their own. */
export const heartbeat = new Heartbeat();

/** The argument of `message.respond`, made by calling a `ResponseDraft`. */
export type ResponseFactory = (parentId: UUID) => Producer;

const NO_FILES: readonly FileTransfer[] = [];
