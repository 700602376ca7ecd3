/**
 * The methods of a gateway. Converts no arguments: the native side checks them.
 *
 * `StartOptions` and `WorkerModule` are here because the three types name each other: a gateway is started with options, these
 * may have handlers, and `handleStart` gets the gateway. Over 400 lines because of that, and of the methods' comments.
 */

import type { Server as HttpServer } from 'node:http';
import type { NativeGateway } from '../addon/native-interface.js';
import { MillraceError } from '../errors.js';
import type { LogLine } from '../log/log-line.js';
import { print } from '../log/report.js';
import type { NodeHandler } from '../node/node-handler.js';
import type { BackplaneOptions } from '../options/backplane.js';
import type { Channels } from '../options/channels.js';
import type { Limits } from '../options/limits.js';
import type { Listener } from '../options/start-options.js';
import type { TlsOptions } from '../options/tls.js';
import type { FetchApp } from '../options/worker-options.js';
import type { HttpOptions, ProtocolHandlers } from '../protocols/listeners.js';
import type { FetchHandler } from '../worker/fetch/fetch-handler.js';
import type { MessageStream } from '../worker/message-stream.js';
import type { OpenAnswer, OpenRequest } from '../worker/open-request.js';
import type { Replies } from '../worker/replies.js';
import { storedToken } from '../worker/token.js';
import type { ArgOf, BytesOnly, DataOf, NeedsArg, TokenOf, WorkerTypes } from '../worker/worker-types.js';
import { checkServer, takeUpgrades } from './attach.js';
import type { StreamSource } from './chunks.js';
import { type CallOptions, callClient } from './client-call.js';
import { askCluster } from './cluster.js';
import type { ClusterInfo } from './cluster-info.js';
import { type DrainedOptions, untilDrained } from './drained.js';
import { history, publish, subscribeAt } from './past.js';
import type * as positions from './positions.js';
import * as presence from './presence.js';
import { Questions } from './questions.js';
import { type SendStreamOptions, sendStream } from './send-stream.js';
import { RunningServer, type Server } from './server.js';
import { type StopOptions, stopOnSignals } from './signals.js';
import type { ChannelState, KeyState, SocketState, Stats, WorkerState } from './stats.js';
import { Supervisor } from './supervisor.js';
import { type Data, mayCompress, type Name, type Pattern, type SendOptions, type Target } from './target.js';

/**
 * Options of `start`. Those of HTTP apply to all listeners that speak HTTP. `Types` gives the types of the workers'
 * argument and tokens: see `defineWorker`.
 */
export interface StartOptions<Types extends WorkerTypes = BytesOnly> extends HttpOptions {
  /** The addresses to listen on. With an empty array, the server has no listener. */
  bind: string | Listener | (string | Listener)[];
  /**
   * The worker module, ESM or CommonJS. A relative path is relative to the working directory. The first call needs this
   * or `handlers`.
   */
  workerPath?: string | URL;
  /**
   * The handlers, in place of a worker module: an object with handlers, a worker module's namespace, or an app. They
   * run on the calling thread, as with `threads: 0`. Pass `{}` if the listeners need no handlers.
   */
  handlers?: WorkerModule<Types> | FetchApp | NodeHandler;
  /**
   * The number of worker threads. Default: the available parallelism, at least 4. With 0, the handlers run on the
   * calling thread.
   */
  threads?: number;
  /** The argument of `handleStart` in every worker, passed as a structured clone. */
  workerArg?: ArgOf<Types>;
  /** The number of I/O threads, 1 to 64. Default: the available parallelism. The first call fixes it. */
  ioThreads?: number;
  /**
   * Whether writes to many connections go to the kernel in one call, by io_uring. Default true: io_uring is used on
   * Linux if the kernel has it and allows it, which containers often do not; otherwise each write is a call of its own.
   * The first call fixes it.
   */
  ioUring?: boolean;
  /**
   * What applies to the messages of channels, by globs: `{ 'img:*': { compress: false } }`. The first that matches
   * counts. Default: nothing special. The first call fixes it.
   */
  channels?: Channels;
  /**
   * Whether SIGINT and SIGTERM stop this server, as its method `stopOnSignals()` does; an object has the options of
   * that method. Signals that arrive while the server starts count, too. Default false.
   */
  stopOnSignals?: boolean | StopOptions;
  /**
   * The link to other nodes, with which several processes or machines act as one: `'redis://localhost:6379'`,
   * `'nats://localhost:4222'`, or an object with more options. The first call fixes it.
   */
  backplane?: string | BackplaneOptions;
  /**
   * Limits. The first call fixes those of the gateway. Limits of a protocol that no listener speaks have no effect.
   */
  limits?: Limits;
  /**
   * Proxies whose `X-Forwarded-For` or `Forwarded` header is trusted: addresses (`'192.0.2.1'`), ranges
   * (`'10.0.0.0/8'`), `'loopback'`, `'private'` and `'unix'` (every client on a unix socket). `ip` and the limits per
   * address then use the client's address: the last address in the header that is not one of these proxies. Default: no
   * proxy is trusted.
   */
  trustProxy?: string[];
  /** TLS on every listener that has no `tls` of its own, for `https:`, `wss:`, `rediss:` and so on. Default: no TLS. */
  tls?: TlsOptions;
  /**
   * Whether other processes that also set this option may listen on the same TCP port. Not available on Windows.
   * Default false.
   */
  reusePort?: boolean;
  /**
   * Called with errors that no caller can catch. Default: they are printed to the standard error output. The first call
   * fixes it.
   */
  onError?(error: MillraceError): void;
  /**
   * Called with each line of the log. Default: lines are printed to the standard error output if `logLevel` or the
   * environment variable `RUST_LOG` is set. The first call fixes it.
   */
  onLog?(line: LogLine): void;
  /**
   * What is logged: `'off'`, `'error'`, `'warn'`, `'info'` (default with `onLog`), `'debug'` or `'trace'`, or rules
   * such as `'warn,millrace::connection=debug'`. `RUST_LOG` takes precedence. The first call fixes it.
   */
  logLevel?: string;
}

/** Options of `attach`: those of `start` that do not concern listening or HTTP requests. */
export type AttachOptions<Types extends WorkerTypes = BytesOnly> = Omit<
  StartOptions<Types>,
  'bind' | 'tls' | 'reusePort' | 'static' | 'events' | 'stats' | 'metrics' | 'health' | 'ready' | 'admin'
>;

/**
 * The handlers of a worker module. All are optional, and are named exports or members of the default export. A handler
 * that is a named export is called with `this` undefined, a member with the object that has it.
 *
 * Events of one connection are handled in order and one at a time: if a handler returns a promise, the connection's
 * next event waits for it. Messages of Sockety, calls of splice, what clients of `millrace.v1` want and requests for `fetch` do not wait. If a handler
 * throws, or its promise is pending for longer than `handlerTimeoutMs`, the connection is closed with 1011, except
 * where a handler's description below says otherwise.
 *
 * `Types` gives the types of `workerArg` and of the sockets' tokens: see `defineWorker`. Without it, tokens are bytes.
 */
export interface WorkerModule<Types extends WorkerTypes = BytesOnly> extends ProtocolHandlers<TokenOf<Types>> {
  /** Called before the worker takes connections. `gateway` is the gateway that started the worker. */
  handleStart?(workerArg: ArgOf<Types>, gateway: Gateway): void | Promise<void>;
  /**
   * Called before the upgrade is answered. Without this handler, every connection is accepted. The handler may send to
   * the socket and subscribe it; what it sends arrives right after the handshake. If it throws, or its promise is
   * pending for longer than `handlerTimeoutMs`, the request is answered with 500.
   */
  handleOpen?(
    socketId: number,
    ip: string,
    headers: Record<string, string>,
    request: OpenRequest,
  ): OpenAnswer<DataOf<Types>> | Promise<OpenAnswer<DataOf<Types>>>;
  /** Called with a text message. Without this handler, a text message closes its connection with 1011. */
  handleTextMessage?(text: string, socketId: number, token?: TokenOf<Types>): void | Promise<void>;
  /**
   * Called with a binary message. Without this handler, a binary message closes its connection with 1011. `data` is a
   * view: its `buffer` also holds neighbouring messages, like that of a pooled `Buffer` of Node.js, and stays in memory
   * as long as `data` does.
   */
  handleBinaryMessage?(data: Uint8Array, socketId: number, token?: TokenOf<Types>): void | Promise<void>;
  /**
   * Called with a ping that the client of a WebSocket sent, which has been answered. `data` is undefined if it is empty.
   */
  handlePing?(socketId: number, token?: TokenOf<Types>, data?: Uint8Array): void | Promise<void>;
  /**
   * Called with a pong of the client of a WebSocket that is not empty: the answer to `ping` with data. Empty pongs answer
   * the pings of `limits.pingIntervalMs`, so no handler is called with them.
   */
  handlePong?(socketId: number, token?: TokenOf<Types>, data?: Uint8Array): void | Promise<void>;
  /**
   * Called with a message above `limits.streamMessagesAbove` (off by default) as soon as that much of it has arrived,
   * instead of the handlers for whole messages. `stream` is an async iterable of strings, or of bytes if `stream.binary`;
   * it is received only as fast as it is read. What is not read when the returned promise settles is discarded.
   * The time limit of handlers runs only while the handler does not read what has arrived.
   */
  handleMessageStream?(stream: MessageStream, socketId: number, token?: TokenOf<Types>): void | Promise<void>;
  /**
   * Called last, exactly once for every accepted connection. The socket and its subscriptions no longer exist. Errors
   * that it throws are reported. `code` is 1005 if the client gave no code, and 1006 if the connection was lost.
   */
  handleClose?(socketId: number, token?: TokenOf<Types>, code?: number, reason?: string): void | Promise<void>;
  /**
   * Called when the socket's outbox has come to hold more than `limits.outboxReadPauseBytes` (default 256 KiB): send it
   * less until `handleDrain`. It is called once, and again only after the outbox has been drained.
   */
  handleCongested?(socketId: number, token?: TokenOf<Types>): void | Promise<void>;
  /**
   * Called when the socket's outbox held more than `limits.outboxReadPauseBytes` (default 256 KiB) and has fallen to a
   * quarter of that, or to half of `limits.outboxBytes` if that is less.
   */
  handleDrain?(socketId: number, token?: TokenOf<Types>): void | Promise<void>;
  /**
   * Answers HTTP requests as in Bun, Deno and Hono: it gets a standard `Request` and returns a `Response`, or `{
   * status, headers, body }`, which costs less. `this` is the object that has the handler. If it throws, the request is
   * answered with 500. An answer that has not begun after `limits.answerTimeoutMs` is given up, and the request is
   * answered with 503.
   */
  fetch?: FetchHandler;
  /** Called when the gateway stops, or when `replaceWorkers` has replaced this worker, after every `handleClose`. */
  handleStop?(): void | Promise<void>;
}

/**
 * A core with its own sockets, channels, keys, workers and listeners. The module functions are the methods of the
 * default gateway; `createGateway` creates others. In a worker, both refer to the gateway that started it.
 */
export class Gateway {
  readonly #native: NativeGateway;
  readonly #supervisor: Supervisor | undefined;
  /** Collects what the handlers of this thread's worker send in reply. Undefined on threads without a worker. */
  #replies: Replies | undefined;
  #report: ((error: MillraceError) => void) | undefined;
  #questions: Questions | undefined;

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

  /** @internal Starts and stops the gateway. Undefined in a worker. */
  get supervisor(): Supervisor | undefined {
    return this.#supervisor;
  }

  /** @internal Whether any thread has started the gateway. */
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
    // from the beginning, so that a signal while the workers start has its effect
    const { stopOnSignals: asked } = (options ?? {}) as { stopOnSignals?: boolean | StopOptions };
    if (asked) stopOnSignals(starting, asked === true ? {} : asked);
    return starting;
  }

  /** See the module function `attach`. */
  async attach<Types extends WorkerTypes = BytesOnly>(
    server: HttpServer,
    options: AttachOptions<Types> & NeedsArg<Types>,
  ): Promise<Server> {
    const supervisor = this.#supervisor;
    if (supervisor === undefined) {
      throw new MillraceError('ERR_MILLRACE_START_IN_WORKER', 'attach cannot be called in a worker');
    }
    const checked = checkServer(server);
    const starting = supervisor.begin(options, true).then((begun) => {
      const { websocketPath: path, limits } = options;
      const detach = takeUpgrades(checked, {
        paths: path === undefined || Array.isArray(path) ? path : [path],
        waitMs: limits?.handshakeTimeoutMs,
        adopt: (socket, bytes) => this.#native.adopt(begun.listeners[0] as number, socket, bytes),
        report: (error) => this.report(error),
      });
      return new RunningServer(this, supervisor, begun, detach);
    });
    const { stopOnSignals: asked } = (options ?? {}) as { stopOnSignals?: boolean | StopOptions };
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
    if (options?.compress !== undefined && !mayCompress(options.compress)) {
      return native.sendUncompressed(target, data, options.except, replies?.count ?? 0, replies?.release() ?? '');
    }
    if (typeof data === 'string' && data.length > LONG) {
      if (replies?.isReceived(data)) return replies.forward(target, options?.except);
      return native.sendLong(target, data, options?.except, replies?.count ?? 0, replies?.release() ?? '');
    }
    if (replies !== undefined && replies.count > 0) {
      return native.send(target, data, options?.except, replies.count, replies.release());
    }
    return options === undefined ? native.send(target, data) : native.send(target, data, options.except);
  }

  /** @internal Takes note of this thread's worker: where its replies are collected, and how its errors are reported. */
  collectReplies(replies: Replies | undefined, report?: (error: MillraceError) => void): void {
    this.#replies = replies;
    this.#report = report;
  }

  /** @internal Reports an error that no caller can catch, as those of handlers are. */
  report(error: MillraceError): void {
    (this.#report ?? print)(error);
  }

  /** @internal Sends the replies that handlers sent during the running drain and that are still collected. */
  flushReplies(): void {
    this.#replies?.flush();
  }

  /** The native functions, for calls that must not overtake the collected replies. */
  #inOrder(): NativeGateway {
    this.#replies?.flush();
    return this.#native;
  }

  /** See the module function `publish`. */
  async publish(channel: Name, data: Data, options?: positions.PublishOptions): Promise<positions.Published> {
    return publish(this.#asking(), channel, data, options);
  }

  /** See the module function `history`. */
  async history(channel: Name, options?: positions.HistoryOptions): Promise<positions.History> {
    return history(this.#asking(), channel, options);
  }

  /** See the module function `presence`. */
  async presence(channel: Name): Promise<presence.Presence> {
    return presence.presence(this.#asking(), channel);
  }

  /** See the module function `presenceCount`. */
  async presenceCount(channel: Name): Promise<presence.PresenceCount> {
    return presence.presenceCount(this.#asking(), channel);
  }

  /** See the module function `setPresence`. */
  async setPresence(socketId: number, channel: Name, info: unknown): Promise<boolean> {
    return presence.setPresence(this.#inOrder(), socketId, channel, info);
  }

  /** See the module function `subscribe`. */
  subscribe(who: Target, channel: Name | Pattern, delta?: number): number[];
  subscribe(who: Target, channel: Name, options: positions.SubscribeOptions): Promise<positions.SubscribeResult[]>;
  subscribe(
    who: Target,
    channel: Name | Pattern,
    how?: number | positions.SubscribeOptions,
  ): number[] | Promise<positions.SubscribeResult[]> {
    if (typeof how !== 'object' || how === null) return this.#inOrder().subscribe(who, channel, how);
    return subscribeAt(this.#asking(), who, channel, how);
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
    // the native side refuses a missing token
    this.#inOrder().setToken(socketId, data as Data, isValue);
  }

  /** See the module function `outboxBytes`. */
  outboxBytes(socketId: number): number {
    return this.#native.outboxBytes(socketId);
  }

  /** See the module function `drained`. */
  async drained(socketId: number, options?: DrainedOptions): Promise<boolean> {
    return untilDrained(this.#asking(), socketId, options);
  }

  /** See the module function `sendStream`. */
  async sendStream(socketId: number, readable: StreamSource, options?: SendStreamOptions): Promise<number> {
    return sendStream(this.#asking(), socketId, readable, options);
  }

  /** See the module function `call`. */
  async call(id: number, method: string, params?: unknown, options?: CallOptions): Promise<string | Uint8Array> {
    return callClient(this.#asking(), id, method, params, options);
  }

  /** What this thread asks the I/O threads, behind everything that it has sent. */
  #asking(): Questions {
    this.#replies?.flush();
    this.#questions ??= new Questions(this.#native);
    return this.#questions;
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

  /** See the module function `terminate`. */
  terminate(socketId: number): boolean {
    return this.#inOrder().terminate(socketId);
  }

  /** See the module function `ping`. */
  ping(socketId: number, data?: Data): boolean {
    return this.#inOrder().ping(socketId, data);
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
    return { ...this.#inOrder().stats(), residentBytes: process.memoryUsage().rss };
  }
}

/** Longer texts, in UTF-16 units, are copied into a buffer of their own and sent from there. */
const LONG = 2048;
