/** The WebSockets of an app: which handlers a connection has, by its path. Owns the sockets that are open. */

import { type Gateway, threadGateway } from '../gateway/gateway.js';
import type { Data, Name, SendOptions } from '../gateway/target.js';
import { readAnswer } from '../worker/admission.js';
import type { OpenAnswer, OpenRequest, Rejection } from '../worker/open-request.js';
import { checkPattern, comparable, type Params, Pattern } from './pattern.js';
import { type Fields, parseQuery } from './query.js';

/**
 * What happens on the sockets of a path. A promise is waited for: events of one socket come one at a time. `Data` is what
 * handlers remember in `socket.data`, `Path` has the parameters of the path.
 */
export interface SocketHandlers<Data = unknown, Path = Params> {
  /**
   * Before the upgrade is answered. `false` refuses with 403, `{status, headers, body}` with that answer; anything else
   * accepts, `{protocol, token, headers}` with a subprotocol, a token or headers.
   */
  open?(socket: Socket<Data, Path>, request: OpenRequest): OpenAnswer | Promise<OpenAnswer>;
  /** A message, if there is no handler of its kind: a string, or bytes. */
  message?(socket: Socket<Data, Path>, message: string | Uint8Array): void | Promise<void>;
  /** A text message. */
  text?(socket: Socket<Data, Path>, text: string): void | Promise<void>;
  /** A binary message. */
  binary?(socket: Socket<Data, Path>, data: Uint8Array): void | Promise<void>;
  /** The socket is gone. Not called if the worker that accepted it is gone, too. */
  close?(socket: Socket<Data, Path>, code: number, reason: string): void | Promise<void>;
  /** The socket's outbox was congested and no longer is. */
  drain?(socket: Socket<Data, Path>): void | Promise<void>;
}

/** A WebSocket of an app. `Attached` is what its handlers remember, `Path` has the parameters of its path. */
export class Socket<Attached = unknown, Path = Params> {
  /** The socket id, for the functions of `millrace`. */
  readonly id: number;
  /** The client's address; empty on a unix socket. */
  readonly ip: string;
  /** The headers of the request that opened it, by name in lower case. */
  readonly headers: Record<string, string>;
  /** The path that it was opened with, not decoded. */
  readonly path: string;
  /** The query that it was opened with. */
  readonly query: Fields;
  /** The parameters of its path, decoded. */
  readonly params: Path;
  /** Anything that handlers want to remember: undefined until one sets it, `open` for instance. It stays in this worker. */
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

  /** Sends a message: a string as text, bytes as binary. Returns 1, or 0 if the socket is gone. */
  send(data: Data): number {
    return this.#gateway.send(this.id, data);
  }

  /** Subscribes to a channel. */
  subscribe(channel: Name): void {
    this.#gateway.subscribe(this.id, channel);
  }

  /** Ends one subscription to a channel. */
  unsubscribe(channel: Name): void {
    this.#gateway.unsubscribe(this.id, channel);
  }

  /** Sends a message to all others in a channel. Returns how many deliveries were posted. */
  publish(channel: Name, data: Data, options: SendOptions = { except: this.id }): number {
    return this.#gateway.send(channel, data, options);
  }

  /** Closes it, after what was sent before. */
  close(code?: number, reason?: string): boolean {
    return this.#gateway.close(this.id, code, reason);
  }
}

/** See the module. */
export class Sockets {
  readonly #routes: { pattern: Pattern; handlers: SocketHandlers }[] = [];
  readonly #open = new Map<number, { socket: Socket; handlers: SocketHandlers }>();
  #gateway: Gateway | undefined;

  /** The gateway that the sockets belong to. */
  belongTo(gateway: Gateway): void {
    this.#gateway = gateway;
  }

  /** Adds a path. @throws {TypeError} if an argument is wrong */
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

  /** `handleOpen`. */
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
        // refused meanwhile, because it took too long, or its close is under way
        if (gateway.getDebugState('sockets', id) === undefined) {
          setTimeout(() => this.#open.delete(id), CLOSE_MS).unref();
        }
        return this.#admit(socket, handlers, settled, request);
      });
    }
    return refusal(404, 'Not Found');
  }

  /**
   * From now on the socket's events have handlers, unless it was refused: then none come.
   *
   * @throws {TypeError} if the answer is none, which refuses it, too
   */
  #admit(socket: Socket, handlers: SocketHandlers, answer: OpenAnswer, request: OpenRequest): OpenAnswer {
    if (readAnswer(answer, request).accepted) this.#open.set(socket.id, { socket, handlers });
    return answer;
  }

  /** `handleTextMessage` and `handleBinaryMessage`. */
  message(id: number, message: string | Uint8Array): void | Promise<void> {
    const found = this.#open.get(id);
    if (found === undefined) return undefined;
    const { socket, handlers } = found;
    if (typeof message === 'string' && handlers.text !== undefined) return handlers.text(socket, message);
    if (typeof message !== 'string' && handlers.binary !== undefined) return handlers.binary(socket, message);
    if (handlers.message !== undefined) return handlers.message(socket, message);
    // as without an app: nobody takes such messages
    socket.close(1011, 'no handler');
    return undefined;
  }

  /** `handleClose`. */
  close(id: number, code: number, reason: string): void | Promise<void> {
    const found = this.#open.get(id);
    this.#open.delete(id);
    return found?.handlers.close?.(found.socket, code, reason);
  }

  /** `handleDrain`. */
  drain(id: number): void | Promise<void> {
    const found = this.#open.get(id);
    return found?.handlers.drain?.(found.socket);
  }
}

function refusal(status: number, body: string): Rejection {
  return { status, headers: { 'content-type': 'text/plain' }, body };
}

const EVENTS = ['open', 'message', 'text', 'binary', 'close', 'drain'];

/** How long the close of a socket that is gone may take to come. */
const CLOSE_MS = 10_000;
