/** What a draft makes: a message or a response, ready to be sent any number of times. Sends nothing itself. */

import type { FileTransfer } from './file-transfer.js';
import type { FixedData } from './fixed-data.js';
import type { UUID } from './uuid.js';

/** What `send` and `pass` take. Made by calling a `Draft`; each time it is sent it gets a new id. */
export class Producer {
  /** UTF-8; of a response: empty. */
  readonly action: Buffer;
  /** Of a response: what it answers. */
  readonly parentId: UUID | undefined;
  /** Undefined: it has none. */
  readonly data: Buffer | undefined;
  /** @internal The same data, where the native side keeps it. */
  readonly fixed: FixedData | undefined;
  /** In the order in which the other side sees them. */
  readonly files: readonly FileTransfer[];
  /** Whether its sender writes a stream. */
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

/** What belongs to a message beside its action. */
export interface ProducerContents {
  readonly data: Buffer | undefined;
  readonly fixed: FixedData | undefined;
  readonly files: readonly FileTransfer[] | undefined;
  readonly hasStream: boolean;
}

/** Producers that are sent one after the other: what `series` makes. */
export class Series {
  /** In the order in which they are sent. */
  readonly producers: readonly (Producer | Series | Heartbeat)[];

  /** @internal */
  constructor(producers: readonly (Producer | Series | Heartbeat)[]) {
    this.producers = producers;
  }
}

/**
 * What `pass` takes to send several things one after the other, of which none expects an answer.
 *
 * @throws {TypeError} for something that is no producer
 */
export function series(...producers: (Producer | Series | Heartbeat)[]): Series {
  for (const [index, one] of producers.entries()) {
    if (one instanceof Producer || one instanceof Series || one instanceof Heartbeat) continue;
    throw new TypeError(`argument ${index + 1} of series must be the result of calling a Draft`);
  }
  return new Series([...producers]);
}

/** The kind of `heartbeat`. */
export class Heartbeat {
  /** @internal */
  readonly isHeartbeat = true;
}

/** A sign of life, for `pass`. Connections send theirs by themselves. */
export const heartbeat = new Heartbeat();

/** What `message.respond` takes. Made by calling a `ResponseDraft`. */
export type ResponseFactory = (parentId: UUID) => Producer;

const NO_FILES: readonly FileTransfer[] = [];
