/** Descriptions of messages and responses: what is the same in all of them, and what each call provides. */

import { Callable } from './callable.js';
import { FileTransfer } from './file-transfer.js';
import { FixedData } from './fixed-data.js';
import { packer } from './msgpack.js';
import { Producer, type ProducerContents, type ResponseFactory } from './producer.js';
import { SocketyError } from './sockety-errors.js';
import type { UUID } from './uuid.js';

/** The argument of a call of a draft. */
export interface DraftInput {
  /**
   * The data, for a draft with `.data()` or `.msgpack()`. More than 64 KiB are read while they are sent, and must not
   * be changed until then.
   */
  data?: unknown;
  /** The files, for a draft with `.files()`. */
  files?: readonly FileTransfer[];
}

/** Makes the contents of one call. */
type Prepared = (input: DraftInput | undefined) => ProducerContents;

/** What drafts of messages and of responses have in common. The methods change the draft and return it. */
abstract class BaseDraft<Made> extends Callable<(input?: DraftInput) => Made> {
  #data: Part<Buffer> = ABSENT;
  #files: Part<readonly FileTransfer[]> = ABSENT;
  #pack: (value: unknown) => Buffer = bytesOf;
  #hasStream = false;
  #prepared: Prepared | undefined;

  /** Starts without any contents. */
  constructor() {
    super((input?: DraftInput) => this.optimize()(input));
  }

  /** Returns the function that a call runs. It stays the same until the draft is changed. */
  abstract optimize(): (input?: DraftInput) => Made;

  /** Adds data: `content`, which must not be changed afterwards, or the `data` of each call. */
  data(content?: Uint8Array | string): this {
    this.#pack = bytesOf;
    return this.#changed(() => {
      this.#data = content === undefined ? ASKED : { is: 'fixed', value: bytesOf(content) };
    });
  }

  /** Adds data in MessagePack: `value`, or the `data` of each call. */
  msgpack(value?: unknown): this {
    this.#pack = packed;
    return this.#changed(() => {
      this.#data = value === undefined ? ASKED : { is: 'fixed', value: packed(value) };
    });
  }

  /** Adds files: these, or the `files` of each call. */
  files(list?: readonly FileTransfer[]): this {
    return this.#changed(() => {
      this.#files = list === undefined ? ASKED : { is: 'fixed', value: filesOf(list) };
    });
  }

  /** Adds a stream, to be written to `request.stream`. */
  stream(): this {
    return this.#changed(() => {
      this.#hasStream = true;
    });
  }

  /** @internal Prepares what calls need, until the next change. */
  protected prepare(): Prepared {
    if (this.#prepared === undefined) {
      const [data, files, hasStream, pack] = [this.#data, this.#files, this.#hasStream, this.#pack];
      const same = data.is === 'fixed' ? data.value : undefined;
      const fixed = same !== undefined && FixedData.isWorthIt(same) ? new FixedData(same) : undefined;
      this.#prepared = (input) => ({
        fixed,
        data: data.is === 'asked' ? pack(given(input, 'data')) : data.value,
        files: files.is === 'asked' ? filesOf(given(input, 'files')) : files.value,
        hasStream,
      });
    }
    return this.#prepared;
  }

  #changed(change: () => void): this {
    change();
    this.#prepared = undefined;
    return this;
  }
}

/**
 * A description of a message: `Draft.for('ping').data()`. A call makes the argument of `send`: `ping({ data: 'x' })`.
 *
 * Passing the draft itself to `send` is an error.
 */
export class Draft extends BaseDraft<Producer> {
  readonly #action: Buffer;

  /** @throws {SocketyError} ERR_SOCKETY_INVALID if the action has more than 65,535 bytes */
  constructor(action: string) {
    super();
    if (typeof action !== 'string') throw new TypeError("argument 'action' must be a string");
    this.#action = Buffer.from(action);
    if (this.#action.length > LONGEST_ACTION)
      throw new SocketyError('ERR_SOCKETY_INVALID', "The 'action name' value is too big");
  }

  /** The same as `new Draft(action)`. */
  static for(action: string): Draft {
    return new Draft(action);
  }

  /** Returns the function that a call runs. It stays the same until the draft is changed. */
  override optimize(): (input?: DraftInput) => Producer {
    const prepared = this.prepare();
    if (this.#optimized?.prepared !== prepared) {
      const call = (input?: DraftInput) => new Producer(this.#action, undefined, prepared(input));
      this.#optimized = { prepared, call };
    }
    return this.#optimized.call;
  }

  #optimized: { prepared: Prepared; call: (input?: DraftInput) => Producer } | undefined;
}

/** A description of a response: `message.respond(pong({ data: 'x' }))`, where `pong` is a draft with `.data()`. */
export class ResponseDraft extends BaseDraft<ResponseFactory> {
  /** Returns the function that a call runs. It stays the same until the draft is changed. */
  override optimize(): (input?: DraftInput) => ResponseFactory {
    const prepared = this.prepare();
    if (this.#optimized?.prepared !== prepared) {
      const call = (input?: DraftInput): ResponseFactory => {
        const contents = prepared(input);
        return (parentId: UUID) => new Producer(NO_ACTION, parentId, contents);
      };
      this.#optimized = { prepared, call };
    }
    return this.#optimized.call;
  }

  #optimized: { prepared: Prepared; call: (input?: DraftInput) => ResponseFactory } | undefined;
}

/**
 * Checks that a value can be sent.
 *
 * @throws {TypeError} also for drafts that were not called
 */
export function checkProducer(producer: unknown): asserts producer is Producer {
  if (producer instanceof Producer) return;
  if (producer instanceof Draft) throw new TypeError("Raw Draft's factory should be called to build the producer.");
  if (producer instanceof ResponseDraft) {
    throw new TypeError("Raw ResponseDraft's factory should be called to build the producer.");
  }
  throw new TypeError("argument 'producer' must be the result of calling a Draft");
}

/** A part of a message: fixed, provided by each call, or missing. */
type Part<T> = { readonly is: 'fixed'; readonly value: T | undefined } | { readonly is: 'asked' };

const ABSENT = { is: 'fixed', value: undefined } as const;
const ASKED = { is: 'asked' } as const;

function given<Name extends 'data' | 'files'>(input: DraftInput | undefined, name: Name): DraftInput[Name] {
  const value = input?.[name];
  if (value === undefined) throw new SocketyError('ERR_SOCKETY_INVALID', `The message requires "${name}" property.`);
  return value;
}

function bytesOf(content: unknown): Buffer {
  if (typeof content === 'string') return Buffer.from(content);
  if (content instanceof Uint8Array) return Buffer.from(content.buffer, content.byteOffset, content.length);
  throw new TypeError('data must be a string or a Uint8Array');
}

function packed(value: unknown): Buffer {
  return packer().pack(value);
}

function filesOf(list: unknown): readonly FileTransfer[] {
  if (!Array.isArray(list) || !list.every((file) => file instanceof FileTransfer)) {
    throw new TypeError('files must be an array of FileTransfers');
  }
  return [...list];
}

const NO_ACTION = Buffer.alloc(0);

const LONGEST_ACTION = 0xffff;
