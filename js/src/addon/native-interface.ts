/** The interface of the native addon: what it exports, and the functions of its gateways and workers. Types only. */

import type { ErrorCode } from '../errors.js';
import type { ClusterInfo } from '../gateway/cluster-info.js';
import type { PresenceCount } from '../gateway/members.js';
import type { History, Published, SubscribeResult } from '../gateway/positions.js';
import type { Stats } from '../gateway/stats.js';
import type { Data, Name, Pattern, Target } from '../gateway/target.js';
import type { LogLine } from '../log/log-line.js';
import type { NativeTls } from '../options/tls.js';

/** Identifies the native state of a thread, which belongs to one loaded image of the addon. */
export interface NativeState {
  /** Different for two images in one process. */
  state: string;
  /** The addon's file as a URL. Empty if the runtime does not tell. */
  file: string;
}

/** The addon's exports. */
export interface Binding extends NativeState {
  version: string;
  /** Undefined if the addon was loaded for another thread, or for one that has ended. */
  isOfThisThread(): boolean | undefined;
  setErrorClass(errorClass: new (code: ErrorCode, message: string) => Error): void;
  /** Repeats wake-ups until they are answered, for runtimes that may lose wake-ups from other threads. */
  ringAgain(): void;
  /** Has this thread woken by its event loop, which is libuv of this version. */
  wakeByLibuv(version: string): void;
  /** Reports more external memory than is used, for runtimes that collect buffers late. */
  weighBuffers(): void;
  createGateway(): { id: number; gateway: NativeGateway };
  /**
   * The gateway of the process with this name. The first thread that starts it starts it for all; the last one that
   * shuts it down ends it.
   */
  sharedGateway(name: string): { id: number; gateway: NativeGateway };
  bind(id: number): NativeGateway;
  /** The current number of objects that are made per thread, in all threads. */
  counts(): { environments: number; gateways: number; workers: number };
  /**
   * `headers` of the result holds names and values, alternating. `null`: there is no data. `false`: it is not a
   * request.
   */
  parseHttpRequest(data: Data): NativeRequest | null | false;
  /** Not available on Windows. */
  sockets?(): NativeSockets;
}

/** The result of `parseHttpRequest`. */
export interface NativeRequest {
  method: string;
  target: string;
  version: string;
  headers: string[];
  body: string;
}

/**
 * The functions of `millrace/sockets`. They check their arguments. A negative result is an error number, `undefined`
 * means that the call waits and is to be repeated, `null` that it would wait, and `false` that the address is not
 * valid.
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
  /** Sends the data from byte `from` on. An array as the result: so many bytes were sent, and some are left. */
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
  /** `entries`: descriptors and events, alternating. Returns what happened at each descriptor. */
  poll(entries: number[], timeout: number): number[] | undefined | number;
  /** The epoll functions exist on Linux only. */
  epollCreate?(flags: number): number;
  epollControl?(epfd: number, op: number, fd: number, events: number): number;
  /** Returns descriptors and events, alternating. */
  epollWait?(epfd: number, maxevents: number, timeout: number): number[] | undefined | number;
}

/** An address and its port. */
export interface NativeAddress {
  address: string;
  port: number;
}

/** A gateway's functions, bound to it and to this thread. They check their arguments. */
export interface NativeGateway {
  /** First sends `texts` to the `replies` sockets in `NativeWorker.replyList`. */
  send(target: Target, data: Data, except?: number | number[], replies?: number, texts?: string): number;
  /** As `send`, for a text that is long enough for a buffer of its own. */
  sendLong(target: Target, text: string, except?: number | number[], replies?: number, texts?: string): number;
  /** As `send`, without compression. */
  sendUncompressed(
    target: Target,
    data: Data,
    except: number | number[] | undefined,
    replies: number,
    texts: string,
  ): number;
  reply(count: number, texts: string): void;
  subscribe(who: Target, channel: Name | Pattern, delta?: number): number[];
  unsubscribe(who: Target, channel: Name | Pattern, delta?: number): number[];
  /** `question`: a store of histories has it, and what comes of it is the text that answers this question. */
  publish(
    channel: Name,
    data: Data,
    key: string | undefined,
    compress: boolean,
  ): Published & { isRepeated: boolean; question?: number };
  /**
   * Undefined: the channel has no history; null: it has no presence; a number: to be called again when this question is
   * answered. `number` is the offset, or without an epoch how many of
   * the last messages.
   */
  subscribeAt(
    who: Target,
    channel: Name | Pattern,
    epoch: string | undefined,
    number: number | undefined,
    member: string | undefined,
  ): SubscribeResult[] | number | undefined | null;
  /**
   * Members behind a socket of a node, with JSON. Undefined: the channel has no presence; a number: to be called again when
   * this question is answered.
   */
  presence(
    channel: Name,
    node: string | undefined,
    after: number | undefined,
    most: number,
  ): { socketId: number; node: string; since: number; info?: string }[] | number | undefined;
  /** Undefined: the channel has no presence; a number: to be called again when this question is answered. */
  presenceCount(channel: Name): PresenceCount | number | undefined;
  setPresence(socketId: number, channel: Name, info: string): boolean | undefined;
  /** Undefined: the channel has no history; a number: `takePast` has it when this question is answered. */
  history(
    channel: Name,
    epoch: string | undefined,
    offset: number | undefined,
    limit: number | undefined,
    reverse: boolean,
  ): History | number | undefined;
  /** What came with the answer to a question of `history`. */
  takePast(question: number): History | undefined;
  copySubscriptions(from: Name, to: Name): number[];
  hasSubscriptions(channel: Name | Pattern): boolean;
  outboxBytes(socketId: number): number;
  /** Sets the function that is called when there are answers to take, unless there is one. */
  openAnswers(onAnswers: () => void): void;
  /** Asks for an answer when the socket's outbox has room or the socket is closed. Returns the question's number. */
  whenDrained(socketId: number): number;
  /** Calls a method of the socket's client. Returns the number of the question that is answered with its result. */
  callClient(socketId: number, method: string, params: Data | undefined): number;
  /** What came with an answer: the result of a call, or the code of its error and perhaps a reason. */
  takeResult(number: number): string | Buffer | string[] | undefined;
  /** Numbers of questions and their answers, alternating. */
  takeAnswers(): number[];
  /** Takes a question back, which is then not answered. */
  forgetAnswer(number: number): void;
  /**
   * Begins a message that is sent in parts. Returns two questions: the first one is answered when it is the message's turn,
   * the second one, whose number is also that of the message, at its end. Undefined: there is no such socket.
   */
  beginStream(socketId: number): number[] | undefined;
  /** Sends a part. Returns the question that is answered when there is room for another one. */
  streamPart(message: number, data: Data, binary: boolean): number;
  /** Ends a message, or gives it up. Does nothing if it has ended. */
  endStream(message: number, isComplete: boolean, binary: boolean): void;
  createVirtualSocket(socketId: number, userDataOrPrefix?: number | Data): number;
  deleteVirtualSocket(id: number, expectedTarget?: number): boolean;
  /** `isValue`: `token` is a serialised value. Default false. */
  setToken(socketId: number, token: Data, isValue?: boolean): void;
  /** A token of bytes is a `Buffer`, a serialised value an `ArrayBuffer`. */
  token(socketId: number): Buffer | ArrayBuffer | undefined;
  getKey(key: Name): Buffer | undefined;
  setKey(key: Name, value?: Data): Buffer | undefined;
  setKeyIf(key: Name, newValue?: Data, checkValue?: Data): boolean;
  close(socketId: number, code?: number, reason?: string): boolean;
  terminate(socketId: number): boolean;
  ping(socketId: number, data?: Data): boolean;
  /**
   * Collects log lines of the I/O threads of the next `start` for `takeLog`. `filter` holds prefixes and levels (0 is
   * off), alternating.
   */
  openLog(filter: (string | number)[], onLines: () => void): void;
  takeLog(): { lines: LogLine[]; dropped: number };
  start(config: Record<string, unknown>, onNotice: () => void): void;
  isRunning(): boolean;
  listen(config: Record<string, unknown>): { id: number; address: string };
  /**
   * Takes over the connection of a `net.Socket`, of which these bytes were read, for a listener that is attached. The socket
   * is to be destroyed. False: the peer has left, or the listener is being stopped.
   */
  adopt(listener: number, socket: object, bytes: Uint8Array): boolean;
  /** Returns the id with which `stopListeners` closes the connection. */
  dial(config: Record<string, unknown>): number;
  /** Reloads all of them or, if one fails, none. */
  reloadTls(listeners: { id: number; tls: NativeTls }[]): void;
  /** With a spread of 0, all connections are closed at once and the code is not used. Returns a ticket. */
  stopListeners(ids: number[], drainMs: number, spreadMs: number, code: number): number;
  /** Makes the times of a stop in progress shorter, counted from now. */
  hastenStop(ticket: number, drainMs: number | undefined, spreadMs: number | undefined): void;
  /** The connections of these listeners stay open. */
  stopAccepting(ids: number[]): void;
  /** Sets whether the gateway that this thread started, or shares, keeps the process running. */
  setHeld(held: boolean): void;
  shutdown(): void;
  takeNotices(): Notice[];
  suspendLiveness(suspended: boolean): void;
  ended(): void;
  addWorker(handlers: number, drain: Drain): NativeWorker;
  debugState(mode: string, key?: unknown): unknown;
  stats(): Omit<Stats, 'residentBytes'>;
  /** Counts an error that was reported to the application. */
  countError(): void;
  askCluster(channels: Name[]): number;
  /** Undefined: the answer has not arrived yet. */
  clusterAnswer(ticket: number): ClusterInfo | undefined;
}

/**
 * Handles a batch of events. `batch` is `true` for the worker's exchange buffer, a buffer of its own if handlers get
 * views of it, or `null` for the rest of the previous batch. A sidecar that is a string is an ASCII text. Returns true
 * if events are left, so that it is called again.
 */
export type Drain = (batch: ArrayBuffer | true | null, length: number, sidecars: Sidecar[] | null) => boolean;

/** A payload that is passed beside the batch. */
export type Sidecar = ArrayBuffer | string;

/** A worker's functions. */
export interface NativeWorker {
  readonly id: number;
  /** The word at `id % 1024` changes when the token of the socket with this id may have changed. */
  readonly tokenWords: ArrayBuffer;
  /** The buffer for batches of texts. */
  readonly exchange: ArrayBuffer;
  /** The list of replies: pairs of doubles, a socket id and a length in UTF-16 units. */
  readonly replyList: ArrayBuffer;
  /** Has the native side remove this file when the thread ends, until `releaseFile`. The file need not exist. */
  guardFile(path: string): void;
  releaseFile(path: string): void;
  activate(): void;
  /**
   * Prepares the worker for being replaced: it gets no more connections, and those that it has are closed with 1012. It
   * still handles its waiting events.
   */
  leave(): void;
  /** The number of connections that are pinned to the worker. */
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
  /** The same for a connection that counts for a key, or to which nothing is compressed. */
  acceptWith(
    socketId: number,
    acceptance: {
      protocol: string | undefined;
      token: Data | undefined;
      headers: string[];
      isValue: boolean;
      limitKey: string | undefined;
      compress: boolean;
    },
  ): void;
  refuseOpen(socketId: number, status: number, headers: string[], body: Data | undefined): void;
  /**
   * Sends the whole answer to a request. `headers`: names and values, alternating, `parts` in number, joined by `\0`.
   */
  respond(request: number, status: number, headers: string, parts: number, body?: string | Uint8Array): void;
  /** Sends the head of an answer. Its body follows. */
  beginAnswer(request: number, status: number, headers: string, parts: number): void;
  writeAnswer(request: number, chunk: string | Uint8Array): void;
  /**
   * Sends a part of an answer that is a message of HTTP/1.1 with its head: strings or bytes. `flags`: 1 for the first
   * part, 2 for the last, 4 to send the first string as Latin-1.
   */
  writeMessage(
    request: number,
    first: string | Uint8Array,
    second: string | Uint8Array | undefined,
    flags: number,
  ): void;
  endAnswer(request: number, whole: boolean): void;
  /** Asks for a TURN record when few bytes of the answer are left to be written. */
  wantRoom(request: number): void;
  /** Allows so many more bytes of the request's body. */
  pull(request: number, bytes: number): void;
  /** The number of requests whose answer is not complete. */
  requests(): number;
  /**
   * Sends the socket's protocol an instruction, in order with `send`. False: the socket is closed, or its queue is
   * full.
   */
  tell(socketId: number, operation: number, fields: Uint8Array, payload?: Data): boolean;
  /**
   * As `tell`, for each record in the first `bytes` bytes. Returns the positions of records that could not be
   * delivered, if there are any.
   */
  tellMany(records: Uint8Array, bytes: number): number[] | undefined;
  /** Copies bytes for `tellShared`, until `forgetBytes`. Returns their number. Undefined: too many are kept already. */
  keepBytes(bytes: Uint8Array): number | undefined;
  forgetBytes(number: number): void;
  /** As `tell`, with kept bytes as the payload, which are not copied again. */
  tellShared(socketId: number, operation: number, fields: Uint8Array, number: number): boolean;
  rebatch(): ArrayBuffer | undefined;
  drainNow(): boolean;
  isIdle(): boolean;
  /** As `NativeGateway.sendLong`, with the text of the record that begins at the word `place` of the current batch. */
  forward(target: Target, place: number, except: number | number[] | undefined, replies: number, texts: string): number;
  /** Lets the I/O threads send what the running drain has posted so far, before the drain ends. */
  wake(): void;
  /** Reports how long a handler took, in microseconds. */
  observe(micros: number): void;
}

/** A report of a gateway to the thread that started it or shares it. */
export type Notice =
  | { kind: 'listenersStopped'; ticket: number; cut: number }
  | { kind: 'stopped' }
  | { kind: 'backplaneReady' }
  | { kind: 'workerUnresponsive'; worker: number; ms: number }
  | DialFailed
  | { kind: 'error'; code: ErrorCode; message: string };

/** A connection to a peer failed. */
export interface DialFailed {
  readonly kind: 'dialFailed';
  /** The id that `dial` returned. */
  readonly dial: number;
  readonly message: string;
  /** The system's error number, if the error came from the system. */
  readonly errno?: number;
  /** The peer was reached, but TLS failed. */
  readonly isTls: boolean;
  readonly isLate: boolean;
  readonly address?: string;
  readonly port?: number;
}
