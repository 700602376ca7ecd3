/**
 * Millrace: the functions of the default gateway. In a worker they mean the gateway that started it.
 *
 * Over 400 lines because each function has its documentation here.
 *
 * @module millrace
 */

import './addon/floor.js';

import type { Server as HttpServer } from 'node:http';
import { binding } from './addon/binding.js';
import type { StreamSource } from './gateway/chunks.js';
import type { ClusterInfo } from './gateway/cluster-info.js';
import type { DrainedOptions } from './gateway/drained.js';
import { type AttachOptions, Gateway, type StartOptions } from './gateway/gateway.js';
import type {
  History,
  HistoryOptions,
  Published,
  PublishOptions,
  SubscribeOptions,
  SubscribeResult,
} from './gateway/positions.js';
import type { SendStreamOptions } from './gateway/send-stream.js';
import type { Server } from './gateway/server.js';
import type { ChannelState, KeyState, SocketState, Stats, WorkerState } from './gateway/stats.js';
import type { Data, Name, Pattern, SendOptions, Target } from './gateway/target.js';
import { threadGateway } from './gateway/thread-gateway.js';
import type { BytesOnly, NeedsArg, WorkerTypes } from './worker/worker-types.js';
// in the bundle of a worker module, this copy of the package runs the worker
import './worker/boot.js';

export { CallError } from './client/call-error.js';
export { ERROR_CODES, type ErrorCode, MillraceError } from './errors.js';
export { call } from './gateway/call.js';
export type { StreamSource } from './gateway/chunks.js';
export type { CallOptions } from './gateway/client-call.js';
export type { ClusterInfo, ClusterNode } from './gateway/cluster-info.js';
export type { DrainedOptions } from './gateway/drained.js';
export type {
  AttachOptions,
  Gateway,
  StartOptions,
  WorkerModule,
  /** The name that `warpsocket` gives it. */
  WorkerModule as WorkerInterface,
} from './gateway/gateway.js';
export type { Member, Presence, PresenceCount } from './gateway/members.js';
export type {
  History,
  HistoryOptions,
  Position,
  Publication,
  Published,
  PublishOptions,
  SubscribeOptions,
  SubscribeResult,
} from './gateway/positions.js';
export type { SendStreamOptions } from './gateway/send-stream.js';
export type { Server } from './gateway/server.js';
export type { DrainOptions, StopOptions } from './gateway/signals.js';
export type * from './gateway/stats.js';
export type { Data, Name, Pattern, SendOptions, Target } from './gateway/target.js';
export type { LogLevel, LogLine } from './log/log-line.js';
export type { BackplaneOptions, BackplaneTls, SentinelLogin } from './options/backplane.js';
export type { Channels, ChannelTerms, ClientTerms, HistoryTerms } from './options/channels.js';
export type { BackplaneFull, OutboxPolicy } from './options/limit-values.js';
export type { GatewayLimits, Limits, ListenerLimits } from './options/limits.js';
export type { Listener, ListenerOptions } from './options/start-options.js';
export type { TlsIdentity, TlsOptions, TlsSource } from './options/tls.js';
export type { FetchApp } from './options/worker-options.js';
export { presence, presenceCount, setPresence } from './presence-functions.js';
export type * from './protocols/listeners.js';
export { defineWorker, type WorkerTypesOf } from './worker/define.js';
export type { AnswerBody, PlainAnswer } from './worker/fetch/answer.js';
export type { FetchHandler } from './worker/fetch/fetch-handler.js';
export type { RequestInfo } from './worker/fetch/fetch-request.js';
export type { MessageStream } from './worker/message-stream.js';
export type {
  Acceptance,
  ClientCertificate,
  OpenAnswer,
  OpenRequest,
  Rejection,
  Transport,
} from './worker/open-request.js';
export type { WorkerTypes } from './worker/worker-types.js';
/**
 * Starts workers and listens. Resolves when every worker is ready, its `handleStart` included, and every address is
 * bound. It may be called again, for more addresses and, with `workerPath`, for more workers. All calls share one core.
 *
 * A call that fails undoes what it did and may be repeated. The process keeps running until every server is stopped.
 *
 * @throws {TypeError} (as a rejection) naming every option that is wrong; nothing was started
 * @throws {MillraceError} (as a rejection) ERR_MILLRACE_WORKER_FAILED, ERR_MILLRACE_NO_HANDLER, ERR_MILLRACE_ADDRESS_IN_USE,
 *   ERR_MILLRACE_BIND_FAILED, ERR_MILLRACE_INVALID_OPTION, ERR_MILLRACE_INVALID_TLS, ERR_MILLRACE_BACKPLANE_LOST (with
 *   `backplane.waitMs`), ERR_MILLRACE_ALREADY_STARTED, ERR_MILLRACE_SHUTTING_DOWN, ERR_MILLRACE_START_IN_WORKER
 * @throws {DOMException} (as a rejection) DataCloneError if `workerArg` cannot be cloned
 * @example
 * ```ts
 * const server = await start({ bind: '127.0.0.1:8080', workerPath: new URL('./worker.js', import.meta.url) });
 * console.log(`listening on ${server.addresses[0]}`);
 * // …
 * await server.stop();
 * ```
 */
export function start<Types extends WorkerTypes = BytesOnly>(
  options: StartOptions<Types> & NeedsArg<Types>,
): Promise<Server> {
  return threadGateway().start(options);
}

/**
 * Takes the WebSockets of a server of `node:http`, such as the one that `app.listen` of Express returns: those on
 * `websocketPath`, or all. From the handshake on, they are connections of the gateway as on a listener of its own.
 * Everything else stays with the server, handshakes on other paths with its other listeners for `'upgrade'` events. A
 * handshake that nobody takes is answered with 404.
 *
 * `stop` of the result ends the WebSockets, and not the server. Works in Node.js on Linux, macOS and other Unix systems,
 * without TLS.
 *
 * @throws {TypeError} (as a rejection) if it is no server of `node:http`, or naming every option that is wrong
 * @throws {MillraceError} (as a rejection) ERR_MILLRACE_CANNOT_ATTACH in Bun, in Deno, on Windows and with TLS, and what
 *   `start` throws
 * @example
 * ```ts
 * const httpServer = app.listen(8080);
 * const workerPath = new URL('./worker.js', import.meta.url);
 * const sockets = await attach(httpServer, { websocketPath: '/ws', workerPath });
 * ```
 */
export function attach<Types extends WorkerTypes = BytesOnly>(
  server: HttpServer,
  options: AttachOptions<Types> & NeedsArg<Types>,
): Promise<Server> {
  return threadGateway().attach(server, options);
}

/**
 * Sends a message. A string is a text message, bytes are a binary one. Never waits: the message is put into the
 * recipients' outboxes.
 *
 * @param target a socket id, a channel name, or an array of these; a socket that is reached twice gets it twice
 * @param options `except`: sockets left out, with all virtual sockets that resolve to them; `compress: false`: sent as it
 * is to connections with compression
 * @returns how many deliveries were posted; ids that are gone and channels without subscribers count 0
 * @throws {TypeError} naming the bad argument; nothing was sent
 * @example
 * ```ts
 * send(socketId, 'hello');
 * send('room-1', JSON.stringify(event), { except: socketId });
 * ```
 */
export function send(target: Target, data: Data, options?: SendOptions): number {
  return threadGateway().send(target, data, options);
}

/**
 * Subscribes sockets to a channel, or to every channel that a pattern matches. Subscriptions are counted: a socket
 * leaves the channel after as many unsubscriptions. A subscriber gets each message once, whatever its count, and once
 * more for every other subscription that matches the message, such as a pattern. A count never exceeds 65,535.
 *
 * @param who socket ids, or channels whose present subscribers are meant
 * @param channel at most 65,536 bytes, or `{ pattern }`
 * @param delta added to each count; default 1. Negative unsubscribes, 0 does nothing
 * @returns the ids that are new in the channel; with a negative `delta`, those that are no longer in it
 * @throws {TypeError} naming the bad argument; nothing was changed
 * @throws {MillraceError} ERR_MILLRACE_TOO_MANY_PATTERNS, ERR_MILLRACE_OVERLOADED; nothing was changed
 * @example
 * ```ts
 * subscribe(socketId, 'room:1');
 * subscribe(socketId, { pattern: 'room:*' });
 * ```
 */
export function subscribe(who: Target, channel: Name | Pattern, delta?: number): number[];
/**
 * Subscribes sockets to a channel with history, from a position on: they get the messages that are kept behind it, and
 * then what is published, without a hole and each message once. A socket that is subscribed already begins anew there.
 * With `member` they become members of a channel with presence.
 *
 * @param who socket ids, or channels whose present subscribers are meant; virtual sockets have no place in the past
 * @param options `since`: a position, after which they go on; or `last`: so many of the last messages; `member`: what the
 * other subscribers see of them, JSON
 * @returns how each socket has entered; sockets that are gone are left out
 * @throws {TypeError} as a rejection, naming the bad argument; nothing was changed
 * @throws {MillraceError} as a rejection: ERR_MILLRACE_NO_HISTORY, ERR_MILLRACE_NO_PRESENCE, ERR_MILLRACE_PRESENCE_FULL,
 * ERR_MILLRACE_OVERLOADED, ERR_MILLRACE_HISTORY_UNAVAILABLE, ERR_MILLRACE_TOO_MANY_WAITS; nothing was changed
 * @example
 * ```ts
 * const [result] = await subscribe(socketId, 'room:1', { since: { epoch, offset } });
 * if (result?.recovered === false) send(socketId, 'reload');
 * ```
 */
export function subscribe(who: Target, channel: Name, options: SubscribeOptions): Promise<SubscribeResult[]>;
export function subscribe(
  who: Target,
  channel: Name | Pattern,
  how?: number | SubscribeOptions,
): number[] | Promise<SubscribeResult[]> {
  return threadGateway().subscribe(who, channel as Name, how as SubscribeOptions);
}

/**
 * Publishes a message in a channel, as `send` does, and tells where it is in the channel's history.
 *
 * @param channel at most 65,536 bytes
 * @param options `idempotencyKey`: a second message with this key is dropped for as long as the first is kept;
 * `compress` as in `send`
 * @throws {TypeError} as a rejection, naming the bad argument; nothing was published
 * @throws {MillraceError} as a rejection, where several nodes share the history: ERR_MILLRACE_HISTORY_UNAVAILABLE,
 * ERR_MILLRACE_PUBLICATION_UNKNOWN, ERR_MILLRACE_TOO_MANY_WAITS
 * @example
 * ```ts
 * const { position } = await publish('room:1', 'hello', { idempotencyKey: id });
 * ```
 */
export function publish(channel: Name, data: Data, options?: PublishOptions): Promise<Published> {
  return threadGateway().publish(channel, data, options);
}

/**
 * The messages that a channel with history keeps, and the position of the newest one.
 *
 * @param options `since`: only messages behind this position; `limit`: the most messages; `reverse`: the newest first
 * @throws {TypeError} as a rejection, naming the bad argument
 * @throws {MillraceError} as a rejection: ERR_MILLRACE_NO_HISTORY, ERR_MILLRACE_HISTORY_UNAVAILABLE,
 * ERR_MILLRACE_TOO_MANY_WAITS
 * @example
 * ```ts
 * const { publications } = await history('room:1', { limit: 20, reverse: true });
 * ```
 */
export function history(channel: Name, options?: HistoryOptions): Promise<History> {
  return threadGateway().history(channel, options);
}

/**
 * The same as `subscribe(who, channel, -delta)`. `delta` is 1 by default.
 *
 * @returns the ids that are no longer in the channel. Nothing published after the return reaches them.
 * @throws {TypeError} naming the bad argument; nothing was changed
 */
export function unsubscribe(who: Target, channel: Name | Pattern, delta?: number): number[] {
  return threadGateway().unsubscribe(who, channel, delta);
}

/**
 * Subscribes every subscriber of `from` to `to`.
 *
 * @deprecated Use `subscribe(from, to)`, which does the same.
 * @returns the ids that are new in `to`
 * @throws {TypeError} naming the bad argument; nothing was changed
 * @throws {MillraceError} ERR_MILLRACE_OVERLOADED; nothing was changed
 */
export function copySubscriptions(from: Name, to: Name): number[] {
  return threadGateway().copySubscriptions(from, to);
}

/**
 * Whether a message to this channel would reach an open connection, also by a pattern. With `{ pattern }`: whether a
 * socket is subscribed to exactly this pattern.
 *
 * @throws {TypeError} naming the bad argument
 */
export function hasSubscriptions(channel: Name | Pattern): boolean {
  return threadGateway().hasSubscriptions(channel);
}

/**
 * How many bytes wait in a socket's outbox, because its client does not read them as fast as they are sent: their
 * length, and 64 for each message. 0 up to 16 KiB, so that sockets that keep up cost nothing. What was sent in the last
 * moment may not be counted yet, and what the system has accepted no longer is.
 *
 * @param socketId a real or virtual socket, of any worker; 0 if there is none
 * @throws {TypeError} naming the bad argument
 */
export function outboxBytes(socketId: number): number {
  return threadGateway().outboxBytes(socketId);
}

/**
 * Waits until a socket's outbox, with everything that this thread has sent before, holds at most a quarter of
 * `limits.outboxReadPauseBytes` (64 KiB by default), or half of `limits.outboxBytes` if that is less.
 *
 * @param socketId a real or virtual socket, of any worker
 * @param options `timeoutMs` and `signal` end the wait earlier
 * @returns true; false if the socket is closed or there is none
 * @throws {TypeError} (as a rejection) naming the bad argument
 * @throws {MillraceError} (as a rejection) ERR_MILLRACE_NOT_DRAINED after `timeoutMs`, ERR_MILLRACE_TOO_MANY_WAITS; and the
 *   signal's reason when it is aborted
 * @example
 * ```ts
 * for await (const row of rows) {
 *   send(socketId, JSON.stringify(row));
 *   if (!(await drained(socketId))) break;
 * }
 * ```
 */
export function drained(socketId: number, options?: DrainedOptions): Promise<boolean> {
  return threadGateway().drained(socketId, options);
}

/**
 * Sends one message to a WebSocket while it is read from a source, as fast as the client reads: it is a fragmented message
 * of any length, of which only about 200 KiB are in memory. What is sent to the socket meanwhile waits for its end, within
 * the limits of the outbox.
 *
 * If the source fails after a part was sent, the socket is closed with 1011, because a message cannot be taken back. The
 * source is cancelled if the message cannot be sent completely.
 *
 * @param socketId a real or virtual socket, of any worker; the mark of a virtual socket is not added
 * @param readable a web `ReadableStream`, a `Readable` of Node.js, or any other iterable of strings or bytes
 * @param options `binary`
 * @returns the number of bytes, once the last part is in the outbox
 * @throws {TypeError} (as a rejection) naming the bad argument
 * @throws {MillraceError} (as a rejection) ERR_MILLRACE_SOCKET_NOT_FOUND, ERR_MILLRACE_SOCKET_CLOSED if the socket is closed
 *   meanwhile, ERR_MILLRACE_NO_STREAMS if it is not a WebSocket, ERR_MILLRACE_STREAM_FAILED if the source fails or has
 *   something else than strings and bytes, or if a text is not UTF-8; ERR_MILLRACE_INBOX_FULL, ERR_MILLRACE_TOO_MANY_WAITS
 * @example
 * ```ts
 * await sendStream(socketId, createReadStream('film.mp4'), { binary: true });
 * ```
 */
export function sendStream(socketId: number, readable: StreamSource, options?: SendStreamOptions): Promise<number> {
  return threadGateway().sendStream(socketId, readable, options);
}

/**
 * Attaches a token to a connection. Its handlers get the token from the next event on, also for events that were
 * received before.
 *
 * @param token bytes or a string, which may be empty: handlers get bytes, those of a string in UTF-8. Any other value
 *   that can be cloned, such as an object: each worker that handles the connection gets a copy of its own, made once.
 *   At most 1 MiB, which a value must not exceed when it is serialised
 * @throws {TypeError} naming the bad argument, also if it is a value that cannot be cloned
 * @throws {MillraceError} ERR_MILLRACE_SOCKET_NOT_FOUND if the id is no open connection (a virtual socket has no token)
 */
export function setToken<Token>(socketId: number, token: Token): void {
  threadGateway().setToken(socketId, token);
}

/**
 * Creates an alias of a socket. The alias has its own subscriptions and is deleted in one call. It is deleted when its
 * target closes.
 *
 * @param socketId a real or virtual socket; it need not exist
 * @param userDataOrPrefix marks the messages that reach the target through this alias. A signed 32-bit number is put in
 *   front of binary messages as 4 big-endian bytes, and into texts that are JSON objects as the property `_vsud`. A
 *   string or bytes, at most 15 bytes, are put in front of every message. In a chain of aliases only the outermost mark
 *   is used.
 * @returns the new socket id
 * @throws {TypeError} naming the bad argument
 */
export function createVirtualSocket(socketId: number, userDataOrPrefix?: number | Data): number {
  return threadGateway().createVirtualSocket(socketId, userDataOrPrefix);
}

/**
 * Deletes a virtual socket and all its subscriptions.
 *
 * @param expectedTarget the socket is deleted only if this is its immediate target
 * @returns whether a socket was deleted
 * @throws {TypeError} naming the bad argument
 */
export function deleteVirtualSocket(id: number, expectedTarget?: number): boolean {
  return threadGateway().deleteVirtualSocket(id, expectedTarget);
}

/**
 * Returns a copy of a value in the key/value store. All threads of the gateway share the store, which is not
 * persistent.
 *
 * @throws {TypeError} naming the bad argument
 */
export function getKey(key: Name): Uint8Array | undefined {
  return threadGateway().getKey(key);
}

/**
 * Stores a value. Without a value, the key is deleted.
 *
 * @returns the previous value
 * @throws {TypeError} naming the bad argument
 */
export function setKey(key: Name, value?: Data): Uint8Array | undefined {
  return threadGateway().setKey(key, value);
}

/**
 * Stores `newValue`, or deletes the key without `newValue`, if the current value equals `checkValue`. Without
 * `checkValue`, it does so if the key does not exist. The operation is atomic over all threads of this node.
 *
 * @returns whether the value was stored or deleted
 * @throws {TypeError} naming the bad argument
 */
export function setKeyIf(key: Name, newValue?: Data, checkValue?: Data): boolean {
  return threadGateway().setKeyIf(key, newValue, checkValue);
}

/**
 * Closes a connection, after everything that was sent before.
 *
 * @param code 1000 to 1003, 1007 to 1014 or 3000 to 4999; default 1000
 * @param reason at most 123 bytes of UTF-8; default empty
 * @returns whether the connection was open
 * @throws {TypeError} naming the bad argument
 */
export function close(socketId: number, code?: number, reason?: string): boolean {
  return threadGateway().close(socketId, code, reason);
}

/**
 * Ends a connection at once, without a closing handshake. What is queued for it is dropped and counted.
 *
 * @returns whether the connection was open; false also after `close` has begun, which ends after `limits.closeTimeoutMs`
 * @throws {TypeError} naming the bad argument
 */
export function terminate(socketId: number): boolean {
  return threadGateway().terminate(socketId);
}

/**
 * Sends a ping to the client of a WebSocket, after everything that was sent before. Its answer reaches `handlePong` if
 * `data` is not empty. To find clients that are gone, nothing has to be sent: `limits.pingIntervalMs` does that. Sockets
 * of other protocols get nothing.
 *
 * @param data at most 125 bytes; default none
 * @returns whether it was passed on; false if the socket is closed or its I/O thread has too much to do
 * @throws {TypeError} naming the bad argument
 */
export function ping(socketId: number, data?: Data): boolean {
  return threadGateway().ping(socketId, data);
}

/**
 * Returns the state of the gateway for debugging: channels and keys (at most 2,000 of each), sockets or workers. A
 * second argument selects one by name or id. With `'channels'`, a socket id selects the channels that the socket is in.
 *
 * @throws {TypeError} Invalid mode, or naming the bad argument
 */
export function getDebugState(mode: 'channels'): ChannelState[];
export function getDebugState(mode: 'channels', socketId: number): ChannelState[];
export function getDebugState(mode: 'channels', channel: Name): ChannelState | undefined;
export function getDebugState(mode: 'sockets'): Record<number, SocketState>;
export function getDebugState(mode: 'sockets', socketId: number): SocketState | undefined;
export function getDebugState(mode: 'workers'): Record<number, WorkerState>;
export function getDebugState(mode: 'workers', workerId: number): WorkerState | undefined;
export function getDebugState(mode: 'kv'): KeyState[];
export function getDebugState(mode: 'kv', key: Name): KeyState | undefined;
export function getDebugState(mode: string, key?: number | Name): unknown {
  return threadGateway().getDebugState(mode, key);
}

/** Counters and sizes of the gateway at this moment. */
export function stats(): Stats {
  return threadGateway().stats();
}

/**
 * Asks all nodes of the backplane which nodes there are, and how many subscribers channels have on all of them.
 * Subscribers by pattern are not counted. A call takes one round trip, and at most about a second. Without a backplane,
 * the answer has this node alone. While the link to the other nodes is lost, it has this node alone and is not
 * complete.
 *
 * @param channels at most 1,000
 * @throws {TypeError} (as a rejection) naming the bad argument
 * @example
 * ```ts
 * const { nodes, subscribers } = await clusterInfo(['room-1']);
 * console.log(`${subscribers[0]} in the room, on ${nodes.length} nodes`);
 * ```
 */
export function clusterInfo(channels?: Name[]): Promise<ClusterInfo> {
  return threadGateway().clusterInfo(channels);
}

/**
 * Creates an isolated gateway with its own sockets, channels, keys, workers and listeners. The functions of this module
 * are its methods.
 *
 * @example
 * ```ts
 * const internal = createGateway();
 * const server = await internal.start({ bind: '127.0.0.1:0', workerPath: './internal-worker.js' });
 * ```
 */
export function createGateway(): Gateway {
  const { id, gateway } = binding().createGateway();
  return Gateway.create(gateway, id);
}
