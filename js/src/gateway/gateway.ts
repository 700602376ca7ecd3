/** A gateway's methods, and which gateway the module functions of this thread mean. Converts nothing: the native side checks. */

import { binding, type NativeGateway } from '../addon/binding.js';
import { ownWorkerData } from '../addon/runtime.js';
import { MillraceError } from '../errors.js';
import { nothing } from '../log/quiet.js';
import { parseReplaceOptions, parseStopOptions } from '../options/server-options.js';
import type { StartOptions } from '../options/start-options.js';
import { parseTlsOptions, type TlsOptions } from '../options/tls.js';
import type { BytesOnly, NeedsArg, WorkerTypes } from '../worker/define.js';
import type { Replies } from '../worker/replies.js';
import { storedToken } from '../worker/token.js';
import { askCluster, type ClusterInfo } from './cluster.js';
import { type StopOptions, stopOnSignals } from './signals.js';
import type { ChannelState, KeyState, SocketState, Stats, WorkerState } from './stats.js';
import { type Begun, Supervisor } from './supervisor.js';
import type { Data, Name, Pattern, SendOptions, Target } from './target.js';

/** What `start` resolves to: the listeners of one call. */
export interface Server {
  /** What was bound, in the order of `bind`: `"127.0.0.1:34567"` with the real port, or `"unix:/path"`. */
  readonly addresses: string[];
  /**
   * Ends the listeners of this call and their connections: stops accepting, tells clients (1001), lets outboxes drain
   * for at most `drain` milliseconds (default 5,000), closes. The last server to stop also ends the workers, after
   * every `handleClose` and then `handleStop` are done, and the I/O threads. Later calls return the first one's promise.
   */
  stop(options?: StopOptions): Promise<void>;
  /** Resolves when the server is stopped, whoever did it: for what comes after, such as closing a database. Never rejects. */
  readonly stopped: Promise<void>;
  /**
   * From now on SIGINT and SIGTERM (on Windows SIGBREAK and SIGHUP, too) stop this server as `stop()` does; a second one ends the
   * process at once, with 128 and the signal's number. The process ends by itself when nothing else keeps it running. Once
   * the server is stopped, signals do what they did before. Only the first call counts.
   *
   * @throws {TypeError} naming what is wrong with the options
   */
  stopOnSignals(options?: StopOptions): void;
  /** `stop()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
  /**
   * Replaces the gateway's workers by new ones that import their module again, one after the other, while the server
   * goes on. Each new one takes connections before the old one lets its own go: they are closed with 1012, so a client
   * that connects again finds the new code; `handleClose` and then `handleStop` still run in the old one.
   *
   * `signal` ends a new one that is being started; the old one and those that were still to be replaced stay, and the
   * promise is rejected with the signal's reason.
   *
   * @throws {MillraceError} (as a rejection) ERR_MILLRACE_WORKER_FAILED if a new one cannot be started, or is not done
   *   after `limits.workerStartTimeoutMs`: the old one and those that were still to be replaced stay;
   *   ERR_MILLRACE_NOT_RUNNING with `threads: 0`, after this server's `stop`, or when the workers are stopped before all
   *   are replaced
   */
  replaceWorkers(options?: { signal?: AbortSignal }): Promise<void>;
  /**
   * Takes renewed certificates: reads the files that `tls` names again, or goes by `tls` from now on on every listener of
   * this call that speaks TLS. Connections that are up stay; handshakes that begin later see the new ones.
   *
   * @throws {TypeError} (as a rejection) naming what is wrong with `tls`
   * @throws {MillraceError} (as a rejection) ERR_MILLRACE_INVALID_TLS if something cannot be read or used: the old ones stay
   */
  reloadTls(tls?: TlsOptions): Promise<void>;
  /** As `stats()` of the gateway. */
  stats(): Stats;
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

class RunningServer implements Server {
  readonly addresses: string[];
  readonly stopped: Promise<void>;
  readonly #gateway: Gateway;
  readonly #supervisor: Supervisor;
  readonly #begun: Begun;
  #stopping: Promise<void> | undefined;
  #isStopped: () => void = nothing;
  #heedsSignals = false;
  /** Reloads come one after the other: the last call's files are what stays. */
  #reloading: Promise<void> = Promise.resolve();

  constructor(gateway: Gateway, supervisor: Supervisor, begun: Begun) {
    this.addresses = [...begun.addresses];
    this.#gateway = gateway;
    this.#supervisor = supervisor;
    this.#begun = begun;
    this.stopped = new Promise((resolve) => {
      this.#isStopped = resolve;
    });
  }

  async stop(options?: StopOptions): Promise<void> {
    const drain = parseStopOptions(options);
    this.#stopping ??= this.#supervisor.finish(this.#begun, drain).finally(this.#isStopped);
    return this.#stopping;
  }

  stopOnSignals(options: StopOptions = {}): void {
    parseStopOptions(options);
    if (this.#heedsSignals || this.#stopping !== undefined) return;
    this.#heedsSignals = true;
    stopOnSignals(Promise.resolve(this), options);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async replaceWorkers(options?: { signal?: AbortSignal }): Promise<void> {
    const signal = parseReplaceOptions(options);
    if (this.#stopping !== undefined) {
      throw new MillraceError('ERR_MILLRACE_NOT_RUNNING', 'this server is stopped, or is being stopped');
    }
    return this.#supervisor.replaceWorkers(signal);
  }

  async reloadTls(tls?: TlsOptions): Promise<void> {
    const plan = parseTlsOptions(tls);
    if (this.#stopping !== undefined) {
      throw new MillraceError('ERR_MILLRACE_NOT_RUNNING', 'this server is stopped, or is being stopped');
    }
    const reloaded = this.#reloading.then(() => this.#supervisor.reloadTls(this.#begun, plan));
    this.#reloading = reloaded.catch(() => undefined);
    return reloaded;
  }

  stats(): Stats {
    return this.#gateway.stats();
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
