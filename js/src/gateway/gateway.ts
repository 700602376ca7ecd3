/**
 * A gateway's methods, and which gateway the module functions of this thread mean. Converts nothing: the native side checks.
 *
 * `StartOptions` and `WorkerModule` are here because the three types name each other: a gateway is started with options, these
 * may have handlers, and `handleStart` gets the gateway.
 */

import { binding } from '../addon/binding.js';
import type { NativeGateway } from '../addon/native-interface.js';
import { ownWorkerData } from '../addon/runtime.js';
import { MillraceError } from '../errors.js';
import type { LogLine } from '../log/log-line.js';
import type { NodeHandler } from '../node/node-handler.js';
import type { BackplaneOptions } from '../options/backplane.js';
import type { Limits } from '../options/limits.js';
import type { Listener } from '../options/start-options.js';
import type { TlsOptions } from '../options/tls.js';
import type { FetchApp } from '../options/worker-options.js';
import type { HttpOptions, ProtocolHandlers } from '../protocols/listeners.js';
import type { FetchHandler } from '../worker/fetch/fetch-handler.js';
import type { OpenAnswer, OpenRequest } from '../worker/open-request.js';
import type { Replies } from '../worker/replies.js';
import { storedToken } from '../worker/token.js';
import type { ArgOf, BytesOnly, DataOf, NeedsArg, TokenOf, WorkerTypes } from '../worker/worker-types.js';
import { askCluster } from './cluster.js';
import type { ClusterInfo } from './cluster-info.js';
import { RunningServer, type Server } from './server.js';
import { type StopOptions, stopOnSignals } from './signals.js';
import type { ChannelState, KeyState, SocketState, Stats, WorkerState } from './stats.js';
import { Supervisor } from './supervisor.js';
import type { Data, Name, Pattern, SendOptions, Target } from './target.js';

/**
 * Options of `start`. Those of HTTP are for all listeners that speak it. `Types` says what the workers are given: see
 * `defineWorker`.
 */
export interface StartOptions<Types extends WorkerTypes = BytesOnly> extends HttpOptions {
  /** Where to listen. An empty array listens nowhere. */
  bind: string | Listener | (string | Listener)[];
  /** The worker module, ESM or CommonJS; a relative path is relative to the working directory. The first call needs it, or `handlers`. */
  workerPath?: string | URL;
  /**
   * The handlers, instead of a worker module: they run on the calling thread, as with `threads: 0`. An object with handlers, a
   * worker module's namespace, or an app. `{}` says that the listeners need none.
   */
  handlers?: WorkerModule<Types> | FetchApp | NodeHandler;
  /** Worker threads. Default: the available parallelism, at least 4. 0 runs the handlers on the calling thread. */
  threads?: number;
  /** Given to `handleStart` of every worker, as a structured clone. */
  workerArg?: ArgOf<Types>;
  /** I/O threads, 1 to 64. Default: the available parallelism. Fixed by the first call. */
  ioThreads?: number;
  /**
   * Whether writes to many connections go to the kernel together, by io_uring. Default true: it is used on Linux where
   * the kernel has it and allows it (containers often do not), ordinary writes elsewhere. Fixed by the first call.
   */
  ioUring?: boolean;
  /**
   * Whether SIGINT and SIGTERM stop this server, as `stopOnSignals()` of it does, or how; also those that come while it starts.
   * Default false.
   */
  stopOnSignals?: boolean | StopOptions;
  /**
   * The link to other nodes, so that several processes or machines act as one: `'redis://localhost:6379'`,
   * `'nats://localhost:4222'`, or more about it. Fixed by the first call.
   */
  backplane?: string | BackplaneOptions;
  /**
   * Bounds; those of the gateway are fixed by the first call. Those of a protocol that no listener speaks have no effect.
   */
  limits?: Limits;
  /**
   * Proxies whose `X-Forwarded-For` or `Forwarded` is believed: addresses (`'192.0.2.1'`), ranges (`'10.0.0.0/8'`),
   * `'loopback'`, `'private'` and `'unix'` (whoever connects over a unix socket). Then `ip` and the limits per address are
   * those of the client: the last address that is not one of these. Default: nobody is believed.
   */
  trustProxy?: string[];
  /** TLS on every listener that does not say otherwise: `https:`, `wss:`, `rediss:` and so on. Default: plain. */
  tls?: TlsOptions;
  /** Whether other processes may listen on the same TCP port, if they ask for it, too. Not on Windows. Default false. */
  reusePort?: boolean;
  /** Told about errors that have nobody to be thrown to. Default: they are printed to the standard error output. Fixed by the first call. */
  onError?(error: MillraceError): void;
  /**
   * Given the lines of the log. Default: they are printed to the standard error output, if `logLevel` or the
   * environment variable `RUST_LOG` asks for some. Fixed by the first call.
   */
  onLog?(line: LogLine): void;
  /**
   * What is logged: `'off'`, `'error'`, `'warn'`, `'info'` (default with `onLog`), `'debug'` or `'trace'`, or rules such
   * as `'warn,millrace::connection=debug'`. `RUST_LOG` goes before it. Fixed by the first call.
   */
  logLevel?: string;
}

/**
 * What a worker module exports, each part optional: as named exports, or else as the members of its default export. Handlers that
 * are named exports are called with `this` undefined, members on what they were found on. Events of one connection come in
 * order and one at a time: if a handler returns a promise, the next one waits for it. Messages of Sockety, calls of splice and
 * requests for `fetch` do not wait. A handler that throws, or whose promise is pending for longer than `handlerTimeoutMs`, closes
 * its connection with 1011, unless it says otherwise below.
 *
 * `Types` says what `workerArg` and the sockets' tokens are: see `defineWorker`. Without it tokens are bytes.
 */
export interface WorkerModule<Types extends WorkerTypes = BytesOnly> extends ProtocolHandlers<TokenOf<Types>> {
  /** Called before the worker takes connections. `gateway` is the one that started it. */
  handleStart?(workerArg: ArgOf<Types>, gateway: Gateway): void | Promise<void>;
  /**
   * Called before the upgrade is answered; without it everybody is accepted. May send to and subscribe the socket:
   * what is sent arrives right after the handshake. Throwing, or a promise that is pending for longer than `handlerTimeoutMs`,
   * answers 500.
   */
  handleOpen?(
    socketId: number,
    ip: string,
    headers: Record<string, string>,
    request: OpenRequest,
  ): OpenAnswer<DataOf<Types>> | Promise<OpenAnswer<DataOf<Types>>>;
  /** A text message. Without it such a message closes its connection with 1011. */
  handleTextMessage?(text: string, socketId: number, token?: TokenOf<Types>): void | Promise<void>;
  /**
   * A binary message. Without it such a message closes its connection with 1011. `data` is a view: its `buffer` holds
   * neighbouring messages, like that of a pooled Node `Buffer`, and stays in memory as long as `data` does.
   */
  handleBinaryMessage?(data: Uint8Array, socketId: number, token?: TokenOf<Types>): void | Promise<void>;
  /**
   * Comes last, exactly once for every accepted connection. The socket is gone, its subscriptions with it. What it throws is
   * reported. `code` is 1005 if the client gave none and 1006 if the connection was lost.
   */
  handleClose?(socketId: number, token?: TokenOf<Types>, code?: number, reason?: string): void | Promise<void>;
  /** The socket's outbox held more than `limits.outboxReadPauseBytes` (256 KiB), and has fallen to a quarter of that. */
  handleDrain?(socketId: number): void | Promise<void>;
  /**
   * Answers HTTP requests, as in Bun, Deno and Hono: gets a standard `Request` and returns a `Response`, or the cheaper
   * `{ status, headers, body }`. `this` is what it was found on. Throwing answers 500; an answer that has not begun
   * after `limits.answerTimeoutMs` is given up with 503.
   */
  fetch?: FetchHandler;
  /** The gateway stops, or `replaceWorkers` has replaced this worker: every `handleClose` is done. */
  handleStop?(): void | Promise<void>;
}

/**
 * A core with its own sockets, channels, keys, workers and listeners. The module functions are the methods of the
 * default one; `createGateway` makes others. In a worker, both mean the gateway that started it.
 */
export class Gateway {
  readonly #native: NativeGateway;
  readonly #supervisor: Supervisor | undefined;
  /** What the handlers of this thread's worker send in reply, while there is one. */
  #replies: Replies | undefined;

  /** @internal */
  static create(native: NativeGateway, id: number): Gateway {
    return new Gateway(native, id, true);
  }

  /** @internal */
  static ofWorker(native: NativeGateway, id: number): Gateway {
    return new Gateway(native, id, false);
  }

  private constructor(native: NativeGateway, id: number, supervises: boolean) {
    this.#native = native;
    this.#supervisor = supervises ? new Supervisor(native, this, id) : undefined;
  }

  /** @internal What starts and stops it. */
  get supervisor(): Supervisor | undefined {
    return this.#supervisor;
  }

  /** @internal Whether it has been started, by whomever. */
  get isRunning(): boolean {
    return this.#native.isRunning();
  }

  /** See the module function `start`. */
  async start<Types extends WorkerTypes = BytesOnly>(options: StartOptions<Types> & NeedsArg<Types>): Promise<Server> {
    if (this.#supervisor === undefined) {
      throw new MillraceError('ERR_MILLRACE_START_IN_WORKER', 'start cannot be called in a worker');
    }
    const supervisor = this.#supervisor;
    const starting = supervisor.begin(options).then((begun) => new RunningServer(this, supervisor, begun));
    // from the beginning: a signal while the workers start is heeded, too
    const { stopOnSignals: asked } = (options ?? {}) as StartOptions;
    if (asked) stopOnSignals(starting, asked === true ? {} : asked);
    return starting;
  }

  /** See the module function `send`. */
  send(target: Target, data: Data, options?: SendOptions): number {
    const replies = this.#replies;
    if (options === undefined && replies?.take(target, data)) return 1;
    if (options !== undefined && (typeof options !== 'object' || options === null)) {
      throw new TypeError(`argument 'options' must be an object, not ${options === null ? 'null' : typeof options}`);
    }
    const native = this.#native;
    if (replies?.first !== undefined) replies.first();
    if (typeof data === 'string' && data.length > LONG) {
      if (replies?.isReceived(data)) return replies.forward(target, options?.except);
      return native.sendLong(target, data, options?.except, replies?.count ?? 0, replies?.release() ?? '');
    }
    if (replies !== undefined && replies.count > 0) {
      return native.send(target, data, options?.except, replies.count, replies.release());
    }
    return options === undefined ? native.send(target, data) : native.send(target, data, options.except);
  }

  /** @internal */
  collectReplies(replies: Replies | undefined): void {
    this.#replies = replies;
  }

  /** @internal Sends what handlers sent and the running drain keeps back. */
  flushReplies(): void {
    this.#replies?.flush();
  }

  /** The native functions, for calls that must not overtake the replies collected so far. */
  #inOrder(): NativeGateway {
    this.#replies?.flush();
    return this.#native;
  }

  /** See the module function `subscribe`. */
  subscribe(who: Target, channel: Name | Pattern, delta?: number): number[] {
    return this.#inOrder().subscribe(who, channel, delta);
  }

  /** See the module function `unsubscribe`. */
  unsubscribe(who: Target, channel: Name | Pattern, delta?: number): number[] {
    return this.#inOrder().unsubscribe(who, channel, delta);
  }

  /** See the module function `copySubscriptions`. */
  copySubscriptions(from: Name, to: Name): number[] {
    return this.#inOrder().copySubscriptions(from, to);
  }

  /** See the module function `hasSubscriptions`. */
  hasSubscriptions(channel: Name | Pattern): boolean {
    return this.#native.hasSubscriptions(channel);
  }

  /** See the module function `setToken`. */
  setToken<Token>(socketId: number, token: Token): void {
    const { data, isValue } = storedToken(token, "argument 'token'");
    // one that is missing is refused there
    this.#inOrder().setToken(socketId, data as Data, isValue);
  }

  /** See the module function `createVirtualSocket`. */
  createVirtualSocket(socketId: number, userDataOrPrefix?: number | Data): number {
    return this.#inOrder().createVirtualSocket(socketId, userDataOrPrefix);
  }

  /** See the module function `deleteVirtualSocket`. */
  deleteVirtualSocket(id: number, expectedTarget?: number): boolean {
    return this.#inOrder().deleteVirtualSocket(id, expectedTarget);
  }

  /** See the module function `getKey`. */
  getKey(key: Name): Uint8Array | undefined {
    return this.#native.getKey(key);
  }

  /** See the module function `setKey`. */
  setKey(key: Name, value?: Data): Uint8Array | undefined {
    return this.#inOrder().setKey(key, value);
  }

  /** See the module function `setKeyIf`. */
  setKeyIf(key: Name, newValue?: Data, checkValue?: Data): boolean {
    return this.#inOrder().setKeyIf(key, newValue, checkValue);
  }

  /** See the module function `close`. */
  close(socketId: number, code?: number, reason?: string): boolean {
    return this.#inOrder().close(socketId, code, reason);
  }

  /** See the module function `getDebugState`. */
  getDebugState(mode: 'channels'): ChannelState[];
  getDebugState(mode: 'channels', socketId: number): ChannelState[];
  getDebugState(mode: 'channels', channel: Name): ChannelState | undefined;
  getDebugState(mode: 'sockets'): Record<number, SocketState>;
  getDebugState(mode: 'sockets', socketId: number): SocketState | undefined;
  getDebugState(mode: 'workers'): Record<number, WorkerState>;
  getDebugState(mode: 'workers', workerId: number): WorkerState | undefined;
  getDebugState(mode: 'kv'): KeyState[];
  getDebugState(mode: 'kv', key: Name): KeyState | undefined;
  getDebugState(mode: string, key?: number | Name): unknown;
  getDebugState(mode: string, key?: number | Name): unknown {
    return this.#inOrder().debugState(mode, key);
  }

  /** See the module function `clusterInfo`. */
  async clusterInfo(channels: Name[] = []): Promise<ClusterInfo> {
    return askCluster(this.#inOrder(), channels);
  }

  /** See the module function `stats`. */
  stats(): Stats {
    return withMemory(this.#inOrder().stats());
  }
}

let ofThisThread: Gateway | undefined;

/** The gateway that this thread's module functions mean. */
export function threadGateway(): Gateway {
  ofThisThread ??= newThreadGateway();
  return ofThisThread;
}

/** In a worker this is called only by a second copy of the package: the first one set the thread's gateway. */
function newThreadGateway(): Gateway {
  const id = ownWorkerData()?.gateway;
  if (id !== undefined) return Gateway.ofWorker(binding().bind(id), id);
  return Gateway.create(binding().bind(DEFAULT_GATEWAY), DEFAULT_GATEWAY);
}

/** Makes this thread a worker of `gateway`: called before the worker module is imported. */
export function setThreadGateway(gateway: Gateway): void {
  ofThisThread = gateway;
}

/** Texts above this, in UTF-16 units, are read into a buffer of their own, from which they are sent. */
const LONG = 2048;

/** The native side's first gateway. */
const DEFAULT_GATEWAY = 1;

/** What only JavaScript knows is added here. */
function withMemory(stats: Omit<Stats, 'residentBytes'>): Stats {
  return { ...stats, residentBytes: process.memoryUsage().rss };
}
