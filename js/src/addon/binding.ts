/**
 * The native addon: its interface, and that it is loaded once per thread and of the right version. Over 400 lines because the
 * interface is one list.
 */

import { type ErrorCode, MillraceError } from '../errors.js';
import type { ClusterInfo } from '../gateway/cluster.js';
import type { Stats } from '../gateway/stats.js';
import type { Data, Name, Pattern, Target } from '../gateway/target.js';
import type { LogLine } from '../log/log.js';
import type { NativeTls } from '../options/tls.js';
import { openAddon, VERSION } from './addon.js';
import { addonOfThread, collectsLate, hasState, isOfThisThread, losesWakeUps, type NativeState } from './runtime.js';

/** The addon's exports. */
export interface Binding extends NativeState {
  version: string;
  /** Nothing, where the addon was loaded for another thread or one that ended. */
  isOfThisThread(): boolean | undefined;
  setErrorClass(errorClass: new (code: ErrorCode, message: string) => Error): void;
  /** The runtime loses wake-ups from other threads: they are repeated until they are answered. */
  ringAgain(): void;
  /** The runtime collects late what it has adopted: more is told than there is. */
  weighBuffers(): void;
  createGateway(): { id: number; gateway: NativeGateway };
  /** The one of the process with this name: the first thread that starts it does, and the last one that shuts it down. */
  sharedGateway(name: string): { id: number; gateway: NativeGateway };
  bind(id: number): NativeGateway;
  /** How much there is now, in all threads, of what is made for one. */
  counts(): { environments: number; gateways: number; workers: number };
  /** Headers are names and values in turn. `null`: there is nothing; `false`: it is no request. */
  parseHttpRequest(data: Data): NativeRequest | null | false;
  /** Not on Windows. */
  sockets?(): NativeSockets;
}

/** What `parseHttpRequest` finds. */
export interface NativeRequest {
  method: string;
  target: string;
  version: string;
  headers: string[];
  body: string;
}

/**
 * The functions of `millrace/sockets`, which check their arguments. A negative number is an error's, `undefined`: the call
 * waits, and is to be made again; `null`: it would wait; `false`: the address is none.
 */
export interface NativeSockets {
  constants(): Record<string, number>;
  errorText(errno: number): string;
  isDetached(buffer: unknown): boolean;
  socket(domain: number, type: number, protocol: number): number;
  bind(fd: number, address: string, port: number | undefined): number | false;
  listen(fd: number, backlog: number): number;
  shutdown(fd: number, how: number): number;
  setNonblocking(fd: number): number;
  close(fd: number): number;
  setOption(fd: number, level: number, name: number, value: number): number;
  option(fd: number, level: number, name: number): [number] | number;
  ownAddress(fd: number): NativeAddress | number;
  peerAddress(fd: number): NativeAddress | number;
  isConnected(fd: number): boolean | number;
  hostAddress(name: string): string | number;
  accept(fd: number): (NativeAddress & { fd: number }) | null | undefined | number;
  connect(fd: number, address: string, port: number | undefined, again: boolean): number | false | undefined;
  /** Without the first `from` bytes. An array: so many went, and there are more. */
  send(fd: number, data: string | ArrayBuffer | ArrayBufferView, flags: number, from: number): number | [number];
  sendTo(
    fd: number,
    data: string | ArrayBuffer | ArrayBufferView,
    flags: number,
    address: string,
    port: number | undefined,
  ): number | false | undefined;
  receive(fd: number, size: number, flags: number, bytes: boolean): string | ArrayBuffer | null | undefined | number;
  receiveFrom(
    fd: number,
    size: number,
    flags: number,
    bytes: boolean,
  ): (NativeAddress & { data: string | ArrayBuffer }) | null | undefined | number;
  /** `entries`: descriptor and events in turn; returns what happened at each. */
  poll(entries: number[], timeout: number): number[] | undefined | number;
  /** Those for epoll are on Linux only. */
  epollCreate?(flags: number): number;
  epollControl?(epfd: number, op: number, fd: number, events: number): number;
  /** Descriptor and events in turn. */
  epollWait?(epfd: number, maxevents: number, timeout: number): number[] | undefined | number;
}

/** An address and its port. */
export interface NativeAddress {
  address: string;
  port: number;
}

/** A gateway's functions, bound to it and to this thread. They check their arguments. */
export interface NativeGateway {
  /** `texts`, to the `replies` sockets that `NativeWorker.replyList` names, go first. */
  send(target: Target, data: Data, except?: number | number[], replies?: number, texts?: string): number;
  /** As `send`, for a text that is worth a buffer of its own. */
  sendLong(target: Target, text: string, except?: number | number[], replies?: number, texts?: string): number;
  reply(count: number, texts: string): void;
  subscribe(who: Target, channel: Name | Pattern, delta?: number): number[];
  unsubscribe(who: Target, channel: Name | Pattern, delta?: number): number[];
  copySubscriptions(from: Name, to: Name): number[];
  hasSubscriptions(channel: Name | Pattern): boolean;
  createVirtualSocket(socketId: number, userDataOrPrefix?: number | Data): number;
  deleteVirtualSocket(id: number, expectedTarget?: number): boolean;
  /** `isValue`: `token` is a value that was serialised; false where it is not given. */
  setToken(socketId: number, token: Data, isValue?: boolean): void;
  /** Bytes come as a `Buffer`, a value as an `ArrayBuffer`. */
  token(socketId: number): Buffer | ArrayBuffer | undefined;
  getKey(key: Name): Buffer | undefined;
  setKey(key: Name, value?: Data): Buffer | undefined;
  setKeyIf(key: Name, newValue?: Data, checkValue?: Data): boolean;
  close(socketId: number, code?: number, reason?: string): boolean;
  /** What the I/O threads of the next `start` log is kept for `takeLog`; `filter` has prefixes and levels (0 is off) in turn. */
  openLog(filter: (string | number)[], onLines: () => void): void;
  takeLog(): { lines: LogLine[]; dropped: number };
  start(config: Record<string, unknown>, onNotice: () => void): void;
  isRunning(): boolean;
  listen(config: Record<string, unknown>): { id: number; address: string };
  /** The id by which `stopListeners` hangs up. */
  dial(config: Record<string, unknown>): number;
  /** All of them or, if one does not work, none. */
  reloadTls(listeners: { id: number; tls: NativeTls }[]): void;
  stopListeners(ids: number[], drainMs: number): number;
  /** Their connections stay. */
  stopAccepting(ids: number[]): void;
  /** Whether the gateway that this thread started, or shares, keeps the process running. */
  setHeld(held: boolean): void;
  shutdown(): void;
  takeNotices(): Notice[];
  suspendLiveness(suspended: boolean): void;
  ended(): void;
  addWorker(handlers: number, drain: Drain): NativeWorker;
  debugState(mode: string, key?: unknown): unknown;
  stats(): Omit<Stats, 'residentBytes'>;
  /** An error was reported to the application. */
  countError(): void;
  askCluster(channels: Name[]): number;
  /** `undefined`: it is not there yet. */
  clusterAnswer(ticket: number): ClusterInfo | undefined;
}

/**
 * Handles a batch of events: in the worker's exchange (`true`), in a buffer of its own because handlers see parts of
 * it in place, or the rest of the last one (`null`). Sidecars that are strings are ASCII texts. True: some events are
 * left, come again.
 */
export type Drain = (batch: ArrayBuffer | true | null, length: number, sidecars: Sidecar[] | null) => boolean;

/** A payload beside the batch. */
export type Sidecar = ArrayBuffer | string;

/** A worker's functions. */
export interface NativeWorker {
  readonly id: number;
  /** A word changes when the token of a socket with `id % 1024` equal to its place may have changed. */
  readonly tokenWords: ArrayBuffer;
  /** Where batches of texts come in. */
  readonly exchange: ArrayBuffer;
  /** Where replies are listed: pairs of doubles, a socket id and a length in UTF-16 units. */
  readonly replyList: ArrayBuffer;
  activate(): void;
  /** It is replaced: no more connections, and those it has are closed with 1012. What waits is still its own. */
  leave(): void;
  /** Those that are pinned to it. */
  connections(): number;
  retire(): void;
  hold(socketId: number, events: number, bytes: number): void;
  release(socketId: number, events: number, bytes: number): void;
  claimClose(socketId: number): boolean;
  acceptOpen(
    socketId: number,
    protocol: string | undefined,
    token: Data | undefined,
    headers: string[],
    isValue: boolean,
  ): void;
  refuseOpen(socketId: number, status: number, headers: string[], body: Data | undefined): void;
  /** The whole answer to a request. `headers`: names and values in turn, joined by `\0`, `parts` in number. */
  respond(request: number, status: number, headers: string, parts: number, body?: string | Uint8Array): void;
  /** An answer's head; its body follows. */
  beginAnswer(request: number, status: number, headers: string, parts: number): void;
  writeAnswer(request: number, chunk: string | Uint8Array): void;
  /**
   * A part of an answer that is a message of HTTP/1.1, head and all: strings or bytes. `flags`: 1 for the first part, 2 for
   * the last, 4 if the first string goes as Latin-1.
   */
  writeMessage(
    request: number,
    first: string | Uint8Array,
    second: string | Uint8Array | undefined,
    flags: number,
  ): void;
  endAnswer(request: number, whole: boolean): void;
  /** A TURN record is to tell when few bytes of the answer are left to be written. */
  wantRoom(request: number): void;
  /** There is room for so many more bytes of the request's body. */
  pull(request: number, bytes: number): void;
  /** Those that wait for the rest of their answer. */
  requests(): number;
  /** Tells the protocol of a socket something of its own, in the order of `send`. False: the socket is gone, or too much waits. */
  tell(socketId: number, operation: number, fields: Uint8Array, payload?: Data): boolean;
  /** As `tell` for each record in so many bytes; returns where those are that could not be told, if there are any. */
  tellMany(records: Uint8Array, bytes: number): number[] | undefined;
  /** Copies bytes, for `tellShared`, until `forgetBytes`; returns their number. Undefined: too many are kept already. */
  keepBytes(bytes: Uint8Array): number | undefined;
  forgetBytes(number: number): void;
  /** As `tell`, with kept bytes as the payload, which are not copied again. */
  tellShared(socketId: number, operation: number, fields: Uint8Array, number: number): boolean;
  /** A file that is removed when this thread ends, until `releaseFile`. It need not be there. */
  guardFile(path: string): void;
  releaseFile(path: string): void;
  rebatch(): ArrayBuffer | undefined;
  drainNow(): boolean;
  isIdle(): boolean;
  /** As `NativeGateway.sendLong`, of the ASCII text that is sidecar number `index` of the batch being handled. */
  forward(target: Target, index: number, except: number | number[] | undefined, replies: number, texts: string): number;
  /** The I/O threads send now what the running drain posted so far, not only when it ends. */
  wake(): void;
  /** A handler took so many µs. */
  observe(micros: number): void;
}

/** What a gateway tells the thread that started it, or shares it. */
export type Notice =
  | { kind: 'listenersStopped'; ticket: number; cut: number }
  | { kind: 'stopped' }
  | { kind: 'backplaneReady' }
  | { kind: 'workerUnresponsive'; worker: number; ms: number }
  | DialFailed
  | { kind: 'error'; code: ErrorCode; message: string };

/** A peer was not reached. */
export interface DialFailed {
  readonly kind: 'dialFailed';
  /** What `dial` returned. */
  readonly dial: number;
  readonly message: string;
  /** The system's number, where it is the system that said so. */
  readonly errno?: number;
  /** It was reached, but TLS failed. */
  readonly isTls: boolean;
  readonly isLate: boolean;
  readonly address?: string;
  readonly port?: number;
}

let loaded: Binding | undefined;

/**
 * The addon, loaded once per thread.
 *
 * @throws {MillraceError} ERR_MILLRACE_BINDING_MISSING, ERR_MILLRACE_BINDING_MISMATCH, ERR_MILLRACE_BINDING_FOREIGN
 */
export function binding(): Binding {
  loaded ??= load();
  return loaded;
}

/**
 * The functions of `millrace/sockets`, where there are any.
 *
 * @throws {MillraceError} as `binding`
 */
export function nativeSockets(): NativeSockets | undefined {
  const addon = binding();
  if (addon.sockets === undefined && process.platform !== 'win32') throw tooOld('function sockets');
  return addon.sockets?.();
}

function load(): Binding {
  const addon = addonOfThread(() => openAddon(isOfThisThread));
  if (addon.version !== VERSION) throw mismatch(`has version ${addon.version} but the package has version ${VERSION}`);
  if (!hasState(addon)) throw tooOld('state');
  for (const name of ['ringAgain', 'weighBuffers', 'sharedGateway'] as const) {
    if (typeof addon[name] !== 'function') throw tooOld(`function ${name}`);
  }
  addon.setErrorClass(MillraceError);
  if (losesWakeUps()) addon.ringAgain();
  if (collectsLate()) addon.weighBuffers();
  return Object.assign(Object.create(addon) as Binding, {
    createGateway: () => {
      const { id, gateway } = addon.createGateway();
      return { id, gateway: checked(gateway) };
    },
    sharedGateway: (name: string) => {
      const { id, gateway } = addon.sharedGateway(name);
      return { id, gateway: checked(gateway) };
    },
    bind: (id: number) => checked(addon.bind(id)),
  });
}

/** What a gateway of the addon must have: a build of another day has another set. */
const GATEWAY: Record<keyof NativeGateway, 'function'> = {
  send: 'function',
  sendLong: 'function',
  reply: 'function',
  subscribe: 'function',
  unsubscribe: 'function',
  copySubscriptions: 'function',
  hasSubscriptions: 'function',
  createVirtualSocket: 'function',
  deleteVirtualSocket: 'function',
  setToken: 'function',
  token: 'function',
  getKey: 'function',
  setKey: 'function',
  setKeyIf: 'function',
  close: 'function',
  openLog: 'function',
  takeLog: 'function',
  start: 'function',
  isRunning: 'function',
  listen: 'function',
  dial: 'function',
  reloadTls: 'function',
  stopListeners: 'function',
  stopAccepting: 'function',
  setHeld: 'function',
  shutdown: 'function',
  takeNotices: 'function',
  suspendLiveness: 'function',
  ended: 'function',
  addWorker: 'function',
  debugState: 'function',
  stats: 'function',
  countError: 'function',
  askCluster: 'function',
  clusterAnswer: 'function',
};

/** What a worker of the addon must have. */
const WORKER: Record<keyof NativeWorker, 'function' | 'number' | 'object'> = {
  id: 'number',
  tokenWords: 'object',
  exchange: 'object',
  replyList: 'object',
  activate: 'function',
  leave: 'function',
  connections: 'function',
  retire: 'function',
  hold: 'function',
  release: 'function',
  claimClose: 'function',
  acceptOpen: 'function',
  refuseOpen: 'function',
  respond: 'function',
  beginAnswer: 'function',
  writeAnswer: 'function',
  writeMessage: 'function',
  endAnswer: 'function',
  wantRoom: 'function',
  pull: 'function',
  requests: 'function',
  tell: 'function',
  tellMany: 'function',
  keepBytes: 'function',
  forgetBytes: 'function',
  tellShared: 'function',
  guardFile: 'function',
  releaseFile: 'function',
  rebatch: 'function',
  drainNow: 'function',
  isIdle: 'function',
  forward: 'function',
  wake: 'function',
  observe: 'function',
};

/** A clone whose JavaScript was built after the addon has the right version, and still not the right addon. */
function checked(gateway: NativeGateway): NativeGateway {
  checkAge(gateway, GATEWAY);
  const { addWorker } = gateway;
  gateway.addWorker = (handlers, drain) => {
    const worker = addWorker(handlers, drain);
    checkAge(worker, WORKER);
    return worker;
  };
  return gateway;
}

/** @throws {MillraceError} ERR_MILLRACE_BINDING_MISMATCH, if something that the addon made lacks one of its parts */
function checkAge<T extends object>(made: T, parts: Record<keyof T & string, string>): void {
  const names = Object.keys(parts) as (keyof T & string)[];
  const missing = names.find((name) => typeof made[name] !== parts[name]);
  if (missing !== undefined) throw tooOld(parts[missing] === 'function' ? `function ${missing}` : missing);
}

function tooOld(lacks: string): MillraceError {
  return mismatch(`is older than the JavaScript: it has no ${lacks}`);
}

function mismatch(what: string): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_BINDING_MISMATCH',
    `the native addon ${what}: install the package again, or in a clone of the repository build it: npm run build`,
  );
}
