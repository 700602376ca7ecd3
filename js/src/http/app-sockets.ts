/** The WebSockets of an app: finds the handlers of a connection by its path. Owns the open sockets. */

import { CallError } from '../client/call-error.js';
import type { StreamSource } from '../gateway/chunks.js';
import type { CallOptions } from '../gateway/client-call.js';
import type { DrainedOptions } from '../gateway/drained.js';
import type { Gateway } from '../gateway/gateway.js';
import type { SendStreamOptions } from '../gateway/send-stream.js';
import type { Data, Name, SendOptions } from '../gateway/target.js';
import { threadGateway } from '../gateway/thread-gateway.js';
import type { PublishAnswer, SubscribeAnswer, SubscribeRequest } from '../v1/client-handlers.js';
import { readAnswer } from '../worker/admission.js';
import type { MessageStream } from '../worker/message-stream.js';
import type { OpenAnswer, OpenRequest, Rejection } from '../worker/open-request.js';
import { checkPattern, comparable, type Params, Pattern } from './pattern.js';
import { type Fields, parseQuery } from './query.js';

/**
 * The handlers of the sockets on a path. Events of one socket are handled one at a time: the next one waits for a
 * promise that a handler returns. `Data` is the type of `socket.data`, `Path` that of the path's parameters.
 */
export interface SocketHandlers<Data = unknown, Path = Params> {
  /**
   * Called before the upgrade is answered. `false` refuses with 403, and `{ status, headers, body }` with that answer.
   * Everything else accepts; `{ protocol, token, headers }` also sets a subprotocol, a token or headers.
   */
  open?(socket: Socket<Data, Path>, request: OpenRequest): OpenAnswer | Promise<OpenAnswer>;
  /** Called with a message of a kind that has no handler of its own: a string or bytes. */
  message?(socket: Socket<Data, Path>, message: string | Uint8Array): void | Promise<void>;
  /** Called with a text message. */
  text?(socket: Socket<Data, Path>, text: string): void | Promise<void>;
  /** Called with a binary message. */
  binary?(socket: Socket<Data, Path>, data: Uint8Array): void | Promise<void>;
  /**
   * Called with a message above `limits.streamMessagesAbove` (off by default) as soon as that much of it has arrived; see
   * `handleMessageStream` of worker modules. Without it, the other handlers get such messages, too, once they are complete.
   */
  messageStream?(socket: Socket<Data, Path>, stream: MessageStream): void | Promise<void>;
  /** Called when a client of `millrace.v1` wants to subscribe itself; see `handleSubscribe` of worker modules. */
  subscribe?(
    socket: Socket<Data, Path>,
    channel: Name,
    request: SubscribeRequest,
  ): SubscribeAnswer | Promise<SubscribeAnswer>;
  /** Called when a client of `millrace.v1` wants to publish; see `handlePublish` of worker modules. */
  publish?(
    socket: Socket<Data, Path>,
    channel: Name,
    data: string | Uint8Array,
  ): PublishAnswer | Promise<PublishAnswer>;
  /** Called when a client of `millrace.v1` calls a method; see `handleCall` of worker modules. */
  call?(socket: Socket<Data, Path>, method: string, params: string | Uint8Array): unknown;
  /** Called when the socket is closed. Not called if the worker that accepted it has ended. */
  close?(socket: Socket<Data, Path>, code: number, reason: string): void | Promise<void>;
  /** Called when the socket's outbox has become congested; see `handleCongested` of worker modules. */
  congested?(socket: Socket<Data, Path>): void | Promise<void>;
  /** Called when the socket's outbox was congested and is no longer. */
  drain?(socket: Socket<Data, Path>): void | Promise<void>;
}

/** A WebSocket of an app. `Attached` is the type of `data`, `Path` that of the path's parameters. */
export class Socket<Attached = unknown, Path = Params> {
  /** The socket id, for use with the functions of `millrace`. */
  readonly id: number;
  /** The client's address; empty on a unix socket. */
  readonly ip: string;
  /** The headers of the request that opened the socket, by name in lower case. */
  readonly headers: Record<string, string>;
  /** The path of that request, not decoded. */
  readonly path: string;
  /** The query of that request. */
  readonly query: Fields;
  /** The decoded parameters of the path. */
  readonly params: Path;
  /** A value of the handlers' own. Undefined until a handler, such as `open`, sets it. It stays in this worker. */
  data: Attached = undefined as Attached;
  readonly #gateway: Gateway;

  /** @internal */
  constructor(gateway: Gateway, id: number, ip: string, request: OpenRequest, params: Path) {
    this.#gateway = gateway;
    this.id = id;
    this.ip = ip;
    this.headers = request.headers;
    this.path = request.path;
    const query = request.url.indexOf('?');
    this.query = parseQuery(query < 0 ? '' : request.url.slice(query + 1));
    this.params = params;
  }

  /**
   * Sends a message: a string as text, bytes as binary. Returns 1, or 0 if the socket is closed. `compress: false` sends
   * it as it is to a client with compression.
   */
  send(data: Data, options?: Pick<SendOptions, 'compress'>): number {
    return options === undefined ? this.#gateway.send(this.id, data) : this.#gateway.send(this.id, data, options);
  }

  /** The bytes that wait in the socket's outbox; see `outboxBytes`. */
  get bufferedAmount(): number {
    return this.#gateway.outboxBytes(this.id);
  }

  /** Waits until the socket's outbox has room. False: the socket is closed. See the module function `drained`. */
  drained(options?: DrainedOptions): Promise<boolean> {
    return this.#gateway.drained(this.id, options);
  }

  /** Sends a message while it is read from a source. See the module function `sendStream`. */
  sendStream(readable: StreamSource, options?: SendStreamOptions): Promise<number> {
    return this.#gateway.sendStream(this.id, readable, options);
  }

  /** Subscribes the socket to a channel. */
  subscribe(channel: Name): void {
    this.#gateway.subscribe(this.id, channel);
  }

  /** Ends one subscription of the socket to a channel. */
  unsubscribe(channel: Name): void {
    this.#gateway.unsubscribe(this.id, channel);
  }

  /**
   * Sends a message to all other sockets in a channel, or to all except those that `except` names. Returns how many
   * deliveries were posted.
   */
  publish(channel: Name, data: Data, options: SendOptions = {}): number {
    const isWhole = typeof options !== 'object' || options === null || options.except !== undefined;
    return this.#gateway.send(channel, data, isWhole ? options : { ...options, except: this.id });
  }

  /** Calls a method of the socket's client, which speaks `millrace.v1`. See the module function `call`. */
  call(method: string, params?: unknown, options?: CallOptions): Promise<string | Uint8Array> {
    return this.#gateway.call(this.id, method, params, options);
  }

  /** Closes the socket, after everything that was sent before. */
  close(code?: number, reason?: string): boolean {
    return this.#gateway.close(this.id, code, reason);
  }
}

/** See the module. */
export class Sockets {
  readonly #routes: { pattern: Pattern; handlers: SocketHandlers }[] = [];
  readonly #open = new Map<number, { socket: Socket; handlers: SocketHandlers }>();
  #gateway: Gateway | undefined;

  /** Sets the gateway that the sockets belong to. */
  belongTo(gateway: Gateway): void {
    this.#gateway = gateway;
  }

  /** Adds the handlers of a path. @throws {TypeError} if an argument is wrong */
  add(path: string, handlers: SocketHandlers): void {
    const pattern = new Pattern(checkPattern(path), true);
    if (typeof handlers !== 'object' || handlers === null) throw new TypeError('ws: the handlers must be an object');
    for (const [name, handler] of Object.entries(handlers)) {
      if (!EVENTS.includes(name)) throw new TypeError(`ws: unknown handler '${name}'; there are ${EVENTS.join(', ')}`);
      if (handler !== undefined && typeof handler !== 'function')
        throw new TypeError(`ws: '${name}' must be a function`);
    }
    this.#routes.push({ pattern, handlers });
  }

  /** Handles `handleOpen`. */
  open(id: number, ip: string, request: OpenRequest): OpenAnswer | Promise<OpenAnswer> {
    let path: string;
    try {
      path = comparable(request.path);
    } catch {
      return refusal(400, 'Bad Request');
    }
    for (const { pattern, handlers } of this.#routes) {
      const params = pattern.match(path);
      if (params === undefined) continue;
      const gateway = this.#gateway ?? threadGateway();
      const socket = new Socket(gateway, id, ip, request, params);
      const answer = handlers.open?.(socket, request);
      if (typeof (answer as PromiseLike<OpenAnswer> | undefined)?.then !== 'function') {
        return this.#admit(socket, handlers, answer as OpenAnswer, request);
      }
      return (answer as Promise<OpenAnswer>).then((settled) => {
        // it was refused meanwhile because it took too long, or its close event is on the way
        if (gateway.getDebugState('sockets', id) === undefined) {
          setTimeout(() => this.#open.delete(id), CLOSE_MS).unref();
        }
        return this.#admit(socket, handlers, settled, request);
      });
    }
    return refusal(404, 'Not Found');
  }

  /**
   * Remembers the socket, so that its events find their handlers, unless the answer refuses it.
   *
   * @throws {TypeError} if the answer is not valid, which refuses the socket, too
   */
  #admit(socket: Socket, handlers: SocketHandlers, answer: OpenAnswer, request: OpenRequest): OpenAnswer {
    if (readAnswer(answer, request).accepted) this.#open.set(socket.id, { socket, handlers });
    return answer;
  }

  /** Handles `handleTextMessage` and `handleBinaryMessage`. */
  message(id: number, message: string | Uint8Array): void | Promise<void> {
    const found = this.#open.get(id);
    if (found === undefined) return undefined;
    const { socket, handlers } = found;
    if (typeof message === 'string' && handlers.text !== undefined) return handlers.text(socket, message);
    if (typeof message !== 'string' && handlers.binary !== undefined) return handlers.binary(socket, message);
    if (handlers.message !== undefined) return handlers.message(socket, message);
    // as without a handler in a worker module: the connection is closed
    socket.close(1011, 'no handler');
    return undefined;
  }

  /** Handles `handleMessageStream`. */
  messageStream(id: number, stream: MessageStream): void | Promise<void> {
    const found = this.#open.get(id);
    if (found === undefined) return undefined;
    const { socket, handlers } = found;
    if (handlers.messageStream !== undefined) return handlers.messageStream(socket, stream);
    return whole(stream).then((message) => this.message(id, message));
  }

  /** Handles `handleClose`. */
  close(id: number, code: number, reason: string): void | Promise<void> {
    const found = this.#open.get(id);
    this.#open.delete(id);
    return found?.handlers.close?.(found.socket, code, reason);
  }

  /** Whether a path has a handler of this name. */
  has(name: keyof SocketHandlers): boolean {
    return this.#routes.some(({ handlers }) => handlers[name] !== undefined);
  }

  /** Handles `handleSubscribe`: on a path without a handler for it, the channel's terms suffice. */
  subscribe(id: number, channel: Name, request: SubscribeRequest): SubscribeAnswer | Promise<SubscribeAnswer> {
    const { socket, handlers } = this.#opened(id);
    return handlers.subscribe === undefined || handlers.subscribe(socket, channel, request);
  }

  /** Handles `handlePublish` in the same way. */
  publish(id: number, channel: Name, data: string | Uint8Array): PublishAnswer | Promise<PublishAnswer> {
    const { socket, handlers } = this.#opened(id);
    return handlers.publish === undefined || handlers.publish(socket, channel, data);
  }

  /** Handles `handleCall`. */
  call(id: number, method: string, params: string | Uint8Array): unknown {
    const { socket, handlers } = this.#opened(id);
    if (handlers.call === undefined) throw new CallError('not_found', 'there is no such method');
    return handlers.call(socket, method, params);
  }

  #opened(id: number): { socket: Socket; handlers: SocketHandlers } {
    const found = this.#open.get(id);
    if (found === undefined) throw new CallError('failed', 'the socket is not open');
    return found;
  }

  /** Handles `handleCongested`. */
  congested(id: number): void | Promise<void> {
    const found = this.#open.get(id);
    return found?.handlers.congested?.(found.socket);
  }

  /** Handles `handleDrain`. */
  drain(id: number): void | Promise<void> {
    const found = this.#open.get(id);
    return found?.handlers.drain?.(found.socket);
  }
}

function refusal(status: number, body: string): Rejection {
  return { status, headers: { 'content-type': 'text/plain' }, body };
}

/** The whole message, for handlers that do not read it while it arrives. */
async function whole(stream: MessageStream): Promise<string | Uint8Array> {
  const pieces: (string | Uint8Array)[] = [];
  for await (const piece of stream) pieces.push(piece);
  return stream.binary ? Buffer.concat(pieces as Uint8Array[]) : pieces.join('');
}

const EVENTS = [
  'open',
  'message',
  'text',
  'binary',
  'messageStream',
  'subscribe',
  'publish',
  'call',
  'close',
  'congested',
  'drain',
];

/** How long the close event of a closed socket may take to arrive, in milliseconds. */
const CLOSE_MS = 10_000;
