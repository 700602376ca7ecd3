/**
 * Runs handlers: one event of a connection at a time, in order. The next one runs when a promise is settled or over its
 * time limit. Owns pending handlers, waiting events and failures. Does not know records. It has over 400 lines because
 * events that run, wait and fail change the same counts.
 */

import type { NativeGateway, NativeWorker } from '../addon/native-interface.js';
import { MillraceError } from '../errors.js';
import { readable } from '../log/report.js';
import type { ProtocolHost } from '../protocols/protocol.js';
import { type Answer, FAILED, Request, readAnswer, WELCOME } from './admission.js';
import { Beside } from './beside.js';
import { type Connection, Run, tokenWord, type Waiting } from './connection.js';
import { Deadlines } from './deadline.js';
import { Events, kindOfEvent, nameOfEvent } from './events.js';
import { KIND_BINARY, KIND_CLOSE, KIND_DRAIN, KIND_EVENT, KIND_OPEN, KIND_TEXT } from './kinds.generated.js';
import type { LoadedModule } from './module.js';
import { type Closing, type Opening, over, type SocketEvent } from './record.js';
import type { Replies } from './replies.js';
import { readValue } from './token.js';

/** See the module. */
export class Runner {
  readonly #gateway: NativeGateway;
  readonly #worker: NativeWorker;
  readonly #replies: Replies;
  readonly #module: LoadedModule;
  readonly #handleText: LoadedModule['handleTextMessage'];
  readonly #handleBinary: LoadedModule['handleBinaryMessage'];
  readonly #events: Events;
  readonly #report: (error: MillraceError) => void;
  readonly #deadlines: Deadlines<Run>;
  readonly #besides: Beside;
  /** Words that change when a token may have changed. */
  readonly #tokens: Uint32Array;
  #ended = false;

  constructor(host: ProtocolHost, replies: Replies, handlerTimeoutMs: number, report: (error: MillraceError) => void) {
    const { gateway, worker, module } = host;
    this.#gateway = gateway;
    this.#worker = worker;
    this.#replies = replies;
    this.#module = module;
    this.#handleText = module.handleTextMessage;
    this.#handleBinary = module.handleBinaryMessage;
    this.#events = new Events(host);
    this.#report = report;
    this.#deadlines = new Deadlines(handlerTimeoutMs, (run) => this.#late(run));
    this.#besides = new Beside(worker);
    this.#tokens = new Uint32Array(worker.tokenWords);
  }

  /** The number of handlers whose promise is pending. */
  get pending(): number {
    return this.#deadlines.size;
  }

  /** Resolves when no handler is pending, or after `ms`. */
  settled(ms: number): Promise<void> {
    return this.#deadlines.settled(ms);
  }

  /** Ignores all pending handlers from now on. */
  end(): void {
    this.#ended = true;
    this.#deadlines.stop();
  }

  // Events from the queue.

  text(connection: Connection, text: string, bytes: number): void {
    if (connection.run !== undefined) this.#wait(connection.run, KIND_TEXT, text, bytes);
    else if (!connection.failed) this.#runText(connection, text, bytes, false);
  }

  /** `shared`: `data` is a view of the batch. */
  binary(connection: Connection, data: Buffer, shared: boolean): void {
    if (connection.run !== undefined) {
      // a copy, because the batch's memory may be transferred before the event's turn
      this.#wait(connection.run, KIND_BINARY, shared ? Buffer.from(data) : data, data.length);
    } else if (!connection.failed) {
      this.#runBinary(connection, data, data.length, false);
    }
  }

  open(connection: Connection, opening: Opening): void {
    const handler = this.#module.handleOpen;
    if (handler === undefined) {
      this.#answer(connection, WELCOME);
    } else {
      const request = new Request(opening);
      const decide = (result: unknown): void => this.#decide(connection, result, request);
      this.#replies.handling(0);
      let result: unknown;
      try {
        result = handler(connection.id, opening.ip, opening.headers, request);
      } catch (error) {
        this.#failed(connection, KIND_OPEN, error);
        return;
      }
      this.#after(connection, KIND_OPEN, result, -1, decide);
      if (connection.run === undefined && !connection.failed) decide(result);
    }
  }

  close(connection: Connection, closing: Closing): void {
    this.#tellOfEnd(closing);
    if (connection.run !== undefined) queue(connection.run, { kind: KIND_CLOSE, payload: closing, held: -1 });
    else this.#closeLast(connection, closing);
  }

  /** `kind`: the outbox has become congested, or is no longer. */
  level(connection: Connection, kind: number): void {
    if (connection.run !== undefined) queue(connection.run, { kind, payload: undefined, held: -1 });
    else if (!connection.failed) this.#runLevel(connection, kind);
  }

  /** The event's fields are a view of the batch. */
  event(connection: Connection, event: SocketEvent): void {
    const bytes = event.end - event.start + event.payload.length;
    const isOwn = this.#events.isOwn(event.number);
    this.#events.arrived(event);
    if (connection.run !== undefined && !isOwn) {
      this.#wait(connection.run, KIND_EVENT, event.copy(), bytes);
    } else if (!connection.failed) {
      this.#runEvent(connection, event, bytes, false, isOwn);
    }
  }

  /** Adds an event that has to wait. The native side counts it against its connection. */
  #wait(run: Run, kind: number, payload: string | Buffer | SocketEvent, bytes: number): void {
    this.#worker.hold(run.connection.id, 1, bytes);
    queue(run, { kind, payload, held: bytes });
  }

  // Handling one event. `held`: the event waited, so the native side counts it already.

  #runText(connection: Connection, text: string, bytes: number, held: boolean): void {
    const handler = this.#handleText;
    if (handler === undefined) {
      this.#noHandler(connection);
      return;
    }
    this.#replies.handling(connection.id);
    let result: unknown;
    try {
      if (this.#tokens[tokenWord(connection.id)] !== connection.tokenSeen) this.#readToken(connection);
      result = handler(text, connection.id, connection.token);
    } catch (error) {
      this.#failed(connection, KIND_TEXT, error);
      return;
    }
    if (result !== undefined) this.#afterMessage(connection, KIND_TEXT, result, bytes, held);
  }

  #runBinary(connection: Connection, data: Buffer, bytes: number, held: boolean): void {
    const handler = this.#handleBinary;
    if (handler === undefined) {
      this.#noHandler(connection);
      return;
    }
    this.#replies.handling(connection.id);
    let result: unknown;
    try {
      if (this.#tokens[tokenWord(connection.id)] !== connection.tokenSeen) this.#readToken(connection);
      result = handler(data, connection.id, connection.token);
    } catch (error) {
      this.#failed(connection, KIND_BINARY, error);
      return;
    }
    if (result !== undefined) this.#afterMessage(connection, KIND_BINARY, result, bytes, held);
  }

  /** `isOwn`: the protocol's own code handles it, and later events do not wait for its promises. */
  #runEvent(connection: Connection, event: SocketEvent, bytes: number, held: boolean, isOwn: boolean): void {
    const kind = kindOfEvent(event.number);
    this.#replies.handling(connection.id);
    let result: unknown;
    try {
      if (this.#tokens[tokenWord(connection.id)] !== connection.tokenSeen) this.#readToken(connection);
      event.socketId = connection.id;
      event.token = connection.token;
      result = this.#events.call(event);
    } catch (error) {
      this.#failed(connection, kind, error, event.giveUp);
      return;
    }
    if (result === undefined) return;
    if (isOwn) this.#beside(connection, kind, result, bytes, event.giveUp);
    else {
      this.#afterMessage(connection, kind, result, bytes, held);
      if (connection.run !== undefined && event.message !== undefined) connection.run.message = event.message;
    }
  }

  /** Handles the close once the promises of protocols' own code are settled. */
  #closeLast(connection: Connection, closing: Closing): void {
    if (connection.beside > 0) connection.closing = closing;
    else this.#runClose(connection, closing);
  }

  #runClose(connection: Connection, closing: Closing): void {
    const handler = this.#module.handleClose;
    // the claim is made in any case, so that the close is not kept for another worker; false if another worker has it
    if (handler === undefined || !this.#worker.claimClose(closing.id) || !connection.accepted) return;
    this.#replies.handling(0);
    let result: unknown;
    try {
      result = handler(closing.id, this.#lastToken(connection, closing), closing.code, closing.reason);
    } catch (error) {
      this.#failed(connection, KIND_CLOSE, error);
      return;
    }
    this.#after(connection, KIND_CLOSE, result, -1, undefined);
  }

  /** The token for `handleClose`. A stored value is the same object that earlier handlers got. */
  #lastToken(connection: Connection, { token, isValue }: Closing): unknown {
    return token !== undefined && isValue ? readValue(token, connection) : token;
  }

  #runLevel(connection: Connection, kind: number): void {
    const handler = kind === KIND_DRAIN ? this.#module.handleDrain : this.#module.handleCongested;
    if (handler === undefined) return;
    this.#replies.handling(0);
    let result: unknown;
    try {
      if (this.#tokens[tokenWord(connection.id)] !== connection.tokenSeen) this.#readToken(connection);
      result = handler(connection.id, connection.token);
    } catch (error) {
      this.#failed(connection, kind, error);
      return;
    }
    this.#after(connection, kind, result, -1, undefined);
  }

  #noHandler(connection: Connection): void {
    connection.failed = true;
    this.#close(connection.id, INTERNAL_ERROR, 'Server worker has no handler');
  }

  /** Closes a connection, after everything that its handlers sent. */
  #close(socketId: number, code: number, reason: string): void {
    this.#replies.flush();
    this.#gateway.close(socketId, code, reason);
  }

  #readToken(connection: Connection): void {
    // read the word first: if the token is set meanwhile, the word changes again
    connection.tokenSeen = this.#tokens[tokenWord(connection.id)] as number;
    const stored = this.#gateway.token(connection.id);
    if (stored === undefined || ArrayBuffer.isView(stored)) {
      connection.token = stored;
      connection.tokenStamp = '';
    } else {
      connection.token = readValue(over(stored), connection);
    }
  }

  // Promises.

  #afterMessage(connection: Connection, kind: number, result: unknown, bytes: number, held: boolean): void {
    this.#after(connection, kind, result, bytes, undefined);
    if (connection.run !== undefined && !held) this.#worker.hold(connection.id, 1, bytes);
  }

  /** Handles the result of a handler. If it is a promise, the next event waits for it. */
  #after(
    connection: Connection,
    kind: number,
    result: unknown,
    held: number,
    decide: ((result: unknown) => void) | undefined,
  ): void {
    if (!this.#isPending(connection, kind, result)) return;
    const now = performance.now();
    const run = new Run(connection, kind, held, now, this.#deadlines.after(now), decide);
    connection.run = run;
    this.#await(run, result);
  }

  /** Handles the result of a protocol's own code. A promise has a time limit, and counts as an unhandled message. */
  #beside(connection: Connection, kind: number, result: unknown, bytes: number, giveUp: GiveUp): void {
    if (!this.#isPending(connection, kind, result)) return;
    const now = performance.now();
    const run = new Run(connection, kind, bytes, now, this.#deadlines.after(now), undefined);
    run.beside = true;
    run.giveUp = giveUp;
    this.#besides.begin(connection, bytes);
    this.#await(run, result);
  }

  /** Whether a result is a promise or another thenable. */
  #isPending(connection: Connection, kind: number, result: unknown): result is PromiseLike<unknown> {
    if ((typeof result !== 'object' && typeof result !== 'function') || result === null) return false;
    try {
      return typeof (result as PromiseLike<unknown>).then === 'function';
    } catch (error) {
      this.#failed(connection, kind, error);
      return false;
    }
  }

  #await(run: Run, result: PromiseLike<unknown>): void {
    this.#deadlines.add(run);
    Promise.resolve(result).then(
      (value) => this.#settled(run, value),
      (error) => this.#rejected(run, error),
    );
  }

  #settled(run: Run, value: unknown): void {
    if (run.done || this.#ended) return;
    run.decide?.(value);
    this.#finish(run);
  }

  #rejected(run: Run, error: unknown): void {
    if (run.done || this.#ended) return;
    this.#failed(run.connection, run.kind, error, run.giveUp);
    this.#finish(run);
  }

  #late(run: Run): void {
    if (run.done || this.#ended) return;
    if (run.message !== undefined && !run.message.isIdle()) {
      run.deadline = this.#deadlines.after(performance.now());
      this.#deadlines.add(run);
      return;
    }
    const message = `${nameOfEvent(run.kind)} took too long for socket ${run.connection.id}`;
    this.#report(new MillraceError('ERR_MILLRACE_HANDLER_TIMEOUT', message));
    if (run.giveUp === undefined) this.#giveUp(run.connection, run.kind);
    else run.giveUp(undefined);
    this.#finish(run);
  }

  #finish(run: Run): void {
    run.done = true;
    this.#worker.observe(Math.trunc((performance.now() - run.began) * 1000));
    this.#deadlines.delete(run);
    if (run.beside) this.#finishBeside(run);
    else this.#goOn(run);
  }

  /** Handles the end of a promise of a protocol's own code. The socket's end may have waited for it. */
  #finishBeside({ connection, held }: Run): void {
    const closing = this.#besides.end(connection, held, !this.#ended);
    if (closing !== undefined) this.#runClose(connection, closing);
  }

  /** Tells the protocols' own code at once that a socket is closed. */
  #tellOfEnd({ id, code, reason }: Closing): void {
    try {
      this.#events.closed(id, code, reason);
    } catch (error) {
      const message = `the end of socket ${id} was not handled: ${readable(error)}`;
      this.#report(new MillraceError('ERR_MILLRACE_HANDLER_FAILED', message, { cause: error }));
    }
  }

  /** Goes on with the events that waited for a handler, which is settled or over its time limit. */
  #goOn(run: Run): void {
    const { connection, waiting } = run;
    connection.run = undefined;
    let events = run.held < 0 ? 0 : 1;
    let bytes = run.held < 0 ? 0 : run.held;
    while (connection.run === undefined) {
      const next = waiting?.shift();
      if (next === undefined) break;
      this.#runWaiting(connection, next);
      // if its handler is pending now, it stays counted until that is settled
      if (next.held >= 0 && connection.run === undefined) {
        events += 1;
        bytes += next.held;
      }
    }
    // one of these events is pending itself now: the rest waits for it
    const pending = connection.run as Run | undefined;
    if (pending !== undefined) pending.waiting = waiting;
    if (events > 0 && !this.#ended) this.#worker.release(connection.id, events, bytes);
  }

  #runWaiting(connection: Connection, { kind, payload, held }: Waiting): void {
    if (kind === KIND_CLOSE) this.#closeLast(connection, payload as Closing);
    else if (connection.failed) return;
    else if (kind === KIND_TEXT) this.#runText(connection, payload as string, held, true);
    else if (kind === KIND_BINARY) this.#runBinary(connection, payload as Buffer, held, true);
    else if (kind === KIND_EVENT) this.#runEvent(connection, payload as SocketEvent, held, true, false);
    else this.#runLevel(connection, kind);
  }

  // Answers and failures.

  #decide(connection: Connection, result: unknown, request: Request): void {
    try {
      this.#answer(connection, readAnswer(result, request));
    } catch (error) {
      this.#failed(connection, KIND_OPEN, error);
    }
  }

  #answer(connection: Connection, answer: Answer): void {
    if (answer.accepted) {
      const { protocol, headers, limitKey, compress } = answer;
      const { data: token, isValue } = answer.token;
      if (limitKey === undefined && compress) this.#worker.acceptOpen(connection.id, protocol, token, headers, isValue);
      else this.#worker.acceptWith(connection.id, { protocol, token, headers, isValue, limitKey, compress });
      connection.accepted = true;
    } else {
      connection.failed = true;
      this.#worker.refuseOpen(connection.id, answer.status, answer.headers, answer.body);
    }
  }

  /** `giveUp`: see `SocketEvent`. */
  #failed(connection: Connection, kind: number, cause: unknown, giveUp?: GiveUp): void {
    // an error that is an answer is not reported
    if (giveUp !== undefined && !giveUp(cause ?? new Error(String(cause)))) return;
    const message = `${nameOfEvent(kind)} failed for socket ${connection.id}: ${readable(cause)}`;
    this.#report(new MillraceError('ERR_MILLRACE_HANDLER_FAILED', message, { cause }));
    if (giveUp === undefined) this.#giveUp(connection, kind);
  }

  /** Answers or closes a connection whose handler failed or exceeded its time limit. */
  #giveUp(connection: Connection, kind: number): void {
    if (kind === KIND_OPEN) {
      this.#answer(connection, FAILED);
    } else if (kind !== KIND_CLOSE) {
      connection.failed = true;
      this.#close(connection.id, INTERNAL_ERROR, 'Internal server error (message handler)');
    }
  }
}

function queue(run: Run, event: Waiting): void {
  run.waiting ??= [];
  run.waiting.push(event);
}

/** See `SocketEvent`. */
type GiveUp = SocketEvent['giveUp'];

/** RFC 6455 7.4.1. */
const INTERNAL_ERROR = 1011;
