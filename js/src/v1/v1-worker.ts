/** `millrace.v1` in a worker: asks the module's handlers what clients may do, and answers. Has no state. */

import { infoText } from '../gateway/presence.js';
import type { Data, Name } from '../gateway/target.js';
import type { ProtocolEvent, ProtocolHost, ProtocolWorker } from '../protocols/protocol.js';
import { EVENT_V1_CALL, EVENT_V1_PUBLISH, EVENT_V1_SUBSCRIBE, OPERATION_V1_ANSWER } from '../worker/kinds.generated.js';
import { payloadOf } from './sent-payload.js';

/** Makes the code that handles the events of `millrace.v1` in a thread. */
export function v1Worker(host: ProtocolHost): ProtocolWorker {
  return {
    events: {
      [EVENT_V1_SUBSCRIBE]: (event) => subscribe(host, new Asked(host, event)),
      [EVENT_V1_PUBLISH]: (event) => publish(host, new Asked(host, event)),
      [EVENT_V1_CALL]: (event) => call(host, new Asked(host, event)),
    },
    closed: () => undefined,
  };
}

function subscribe({ module }: ProtocolHost, asked: Asked): unknown {
  const { socketId, token } = asked.event;
  const info: unknown = (asked.flags & INFO) === 0 ? undefined : JSON.parse(asked.event.payload.toString());
  const { since } = asked;
  return asked.whenDone(module.handleSubscribe?.(asked.channel, socketId, token, { since, info }), (answer) => {
    if (answer === true) return asked.say(YES);
    if (answer === false) return asked.say(DENIED);
    if (typeof answer !== 'object' || answer === null)
      throw wrong('handleSubscribe', 'a boolean or { member }', answer);
    if (answer.member === undefined) return asked.say(YES);
    return asked.sayData(infoText(answer.member, 'member of handleSubscribe'));
  });
}

function publish({ module }: ProtocolHost, asked: Asked): unknown {
  const { socketId, token } = asked.event;
  return asked.whenDone(module.handlePublish?.(asked.channel, asked.data, socketId, token), (answer) => {
    if (answer === true) return asked.say(YES);
    if (answer === false) return asked.say(DENIED);
    const data = typeof answer === 'object' && answer !== null && 'data' in answer ? answer.data : undefined;
    if (data === undefined) throw wrong('handlePublish', 'a boolean or { data }', answer);
    return asked.sayData(payloadOf(data, 'data of handlePublish') as Data);
  });
}

function call({ module }: ProtocolHost, asked: Asked): unknown {
  const { socketId, token } = asked.event;
  return asked.whenDone(module.handleCall?.(asked.name.toString(), asked.data, socketId, token), (result) => {
    const data = payloadOf(result, 'the result of handleCall');
    if (data === undefined) asked.say(YES);
    else asked.sayData(data);
  });
}

function wrong(handler: string, expected: string, answer: unknown): TypeError {
  return new TypeError(`${handler} must return ${expected}, not ${answer === null ? 'null' : typeof answer}`);
}

/** A question of a client, which is answered once. */
class Asked {
  readonly event: ProtocolEvent;
  readonly flags: number;
  /** The name of a channel or method. */
  readonly name: Buffer;
  readonly since: { epoch: string; offset: number } | undefined;
  readonly #host: ProtocolHost;
  readonly #number: number;
  #isOver = false;

  constructor(host: ProtocolHost, event: ProtocolEvent) {
    this.#host = host;
    this.event = event;
    // a view of the batch
    const { fields } = event;
    this.#number = fields.readUInt32LE(0);
    this.flags = fields.readUInt32LE(4);
    const end = HEAD_BYTES + fields.readUInt32LE(8);
    this.name = Buffer.from(fields.subarray(HEAD_BYTES, end));
    const offset = fields.readUInt32LE(16) * 2 ** 32 + fields.readUInt32LE(12);
    this.since = (this.flags & SINCE) === 0 ? undefined : { epoch: fields.subarray(end).toString(), offset };
    event.giveUp = (cause) => this.#giveUp(cause);
  }

  get channel(): Name {
    return (this.flags & NAME_IS_TEXT) === 0 ? this.name : this.name.toString();
  }

  /** What the client sent. */
  get data(): string | Uint8Array {
    const { payload } = this.event;
    return (this.flags & TEXT) === 0 ? payload : payload.toString();
  }

  /** Calls `answered` with what a handler returned, now or later. */
  whenDone<Result>(result: Result | PromiseLike<Result> | undefined, answered: (result: Result) => void): unknown {
    if (typeof (result as PromiseLike<Result> | undefined)?.then === 'function') {
      return Promise.resolve(result as PromiseLike<Result>).then((settled) => {
        // it may have been too late
        if (!this.#isOver) answered(settled);
      });
    }
    answered(result as Result);
    return undefined;
  }

  /** Answers that the handler failed, or with its own code. Returns whether that has to be reported. */
  #giveUp(cause: unknown): boolean {
    const own = errorOf(cause);
    if (own === undefined) this.say(cause === undefined ? LATE : FAILED);
    else this.sayError(own.code, own.reason);
    return own === undefined;
  }

  say(verdict: number): void {
    this.#tell(verdict);
  }

  sayData(data: Data): void {
    this.#tell(typeof data === 'string' ? SAYS_TEXT : SAYS_BYTES, data);
  }

  sayError(code: string, reason: string | undefined): void {
    const bytes = Buffer.from(code + (reason ?? ''));
    this.#tell(ERROR, bytes, [Buffer.byteLength(code), reason === undefined ? 0 : 1]);
  }

  #tell(verdict: number, payload?: Data, more: [number, number] = [0, 0]): void {
    if (this.#isOver) return;
    const { gateway, replies, worker } = this.#host;
    const { socketId } = this.event;
    const fields = Buffer.alloc(ANSWER_BYTES);
    fields.writeUInt32LE(this.#number, 0);
    fields.set([verdict, ...more], 4);
    // what the handler sent before comes first
    replies.flush();
    const told = worker.tell(socketId, OPERATION_V1_ANSWER, fields, payload);
    // only now: if that throws, the answer is that the handler failed
    this.#isOver = true;
    // the client would wait for ever
    if (!told) gateway.close(socketId, TRY_AGAIN_LATER, 'The server has too much to do');
  }
}

/** The code that an error of a handler gives to its client. `CallError` may be that of another entry of the package. */
function errorOf(cause: unknown): { code: string; reason: string | undefined } | undefined {
  if (!(cause instanceof Error) || cause.name !== 'CallError') return undefined;
  const { code, reason } = cause as Error & { code?: unknown; reason?: unknown };
  if (typeof code !== 'string' || code === '' || Buffer.byteLength(code) > CODE_BYTES) return undefined;
  return { code, reason: typeof reason === 'string' ? reason : undefined };
}

/** RFC 6455 7.4.1, and the registry of IANA. */
const TRY_AGAIN_LATER = 1013;

/** The most bytes of a code. */
const CODE_BYTES = 64;

/** The bytes of a question's fields in front of the name, and those of an answer's fields. */
const HEAD_BYTES = 20;
const ANSWER_BYTES = 8;

const TEXT = 1;
const NAME_IS_TEXT = 2;
const SINCE = 4;
const INFO = 8;

const FAILED = 0;
const YES = 1;
const SAYS_TEXT = 2;
const SAYS_BYTES = 3;
const DENIED = 4;
const LATE = 5;
const ERROR = 6;
