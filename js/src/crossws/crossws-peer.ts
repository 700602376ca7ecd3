/** A connection as hooks of crossws get it. Sends and subscribes by the functions of its gateway. */

import type { Hooks, Peer, PeerContext, SyncDriver, WaitForDrainOptions } from 'crossws' with {
  'resolution-mode': 'import',
};
import type { Gateway } from '../gateway/gateway.js';
import { compressionOf, payloadOf } from './payload.js';
import { PeerSocket } from './peer-socket.js';
import { channelOf } from './topics.js';
import { type Outbox, untilBelow } from './wait-for-drain.js';

/** What a peer is made of. */
export interface PeerParts {
  readonly gateway: Gateway;
  readonly id: number;
  readonly ip: string;
  readonly request: Request;
  readonly namespace: string;
  readonly context: PeerContext;
  /** The peers of its namespace, which it belongs to while it is open. */
  readonly peers: Set<Peer>;
  /** The hooks of the peer's own, beside those of the adapter. */
  readonly hooks: Partial<Hooks> | undefined;
  /** The subprotocol that was agreed on. Empty: none. */
  readonly protocol: string;
  /** Whether messages to it may be compressed. */
  readonly compress: boolean;
  readonly sync: SyncDriver | undefined;
  /** Reports that a ping cannot be sent. */
  readonly failed: (peer: CrosswsPeer, error: unknown) => void;
}

/** See the module. Implements the class `Peer` of crossws, which cannot be imported as a value. */
export class CrosswsPeer {
  /** The hooks of the peer's own. */
  readonly hooks: Partial<Hooks> | undefined;
  readonly topics = new Set<string>();
  readonly #parts: PeerParts;
  readonly #websocket: PeerSocket;
  #id: string | undefined;
  /** Whether the handshake is not answered yet, so that the connection cannot be closed. */
  #isOpening = true;
  /** The close that was asked for while the handshake was not answered. */
  #asked: (() => void) | undefined;

  constructor(parts: PeerParts) {
    this.#parts = parts;
    this.hooks = parts.hooks;
    this.#websocket = new PeerSocket(this, parts.request, parts.protocol);
  }

  /** The same object in the type of crossws. */
  get typed(): Peer {
    return this as unknown as Peer;
  }

  /** The socket id, for the functions of `millrace`. */
  get socketId(): number {
    return this.#parts.id;
  }

  get id(): string {
    this.#id ??= crypto.randomUUID();
    return this.#id;
  }

  get context(): PeerContext {
    return this.#parts.context;
  }

  get namespace(): string {
    return this.#parts.namespace;
  }

  get remoteAddress(): string | undefined {
    return this.#parts.ip === '' ? undefined : this.#parts.ip;
  }

  get request(): Request {
    return this.#parts.request;
  }

  get websocket(): PeerSocket {
    return this.#websocket;
  }

  get peers(): Set<Peer> {
    return this.#parts.peers;
  }

  get bufferedAmount(): number {
    return this.#parts.gateway.outboxBytes(this.#parts.id);
  }

  /** Sends a message. Returns the bytes that are queued for the peer. */
  send(data: unknown, options?: { compress?: boolean }): number {
    const { gateway, id, compress } = this.#parts;
    // the gateway knows it only from the answer to the handshake on, which the hook `open` precedes
    gateway.send(id, payloadOf(data), compressionOf(compress ? options : PLAIN));
    return this.bufferedAmount;
  }

  publish(topic: string, data: unknown, options?: { compress?: boolean }): void {
    this._publish(topic, data, options);
    const { sync, namespace } = this.#parts;
    if (sync !== undefined) void sync.publish({ namespace, topic, data: payloadOf(data) });
  }

  /** Sends a message to the other peers of the namespace that have the topic, on all threads and nodes. */
  _publish(topic: string, data: unknown, options?: { compress?: boolean }): void {
    const { gateway, id, namespace } = this.#parts;
    gateway.send(channelOf(topic, namespace), payloadOf(data), { except: id, ...compressionOf(options) });
  }

  subscribe(topic: string): void {
    if (this.topics.has(topic)) return;
    const { gateway, id, namespace } = this.#parts;
    gateway.subscribe(id, channelOf(topic, namespace));
    gateway.subscribe(id, channelOf(topic));
    this.topics.add(topic);
  }

  unsubscribe(topic: string): void {
    if (!this.topics.delete(topic)) return;
    const { gateway, id, namespace } = this.#parts;
    gateway.unsubscribe(id, channelOf(topic, namespace));
    gateway.unsubscribe(id, channelOf(topic));
  }

  /** Closes the connection, after everything that was sent before. */
  close(code?: number, reason?: string): void {
    const { gateway, id } = this.#parts;
    if (this.#websocket.readyState === 1) this.#end(() => gateway.close(id, code, reason));
  }

  /** Ends the connection at once. */
  terminate(): void {
    const { gateway, id } = this.#parts;
    if (this.#websocket.readyState !== 3) this.#end(() => gateway.terminate(id));
  }

  /** Sends a ping. */
  ping(data?: unknown): void {
    const { gateway, id, failed } = this.#parts;
    try {
      gateway.ping(id, data === undefined ? undefined : payloadOf(data));
    } catch (error) {
      failed(this, error);
    }
  }

  /** Resolves when at most `threshold` bytes are queued, or when the connection is no longer open. */
  waitForDrain(options?: WaitForDrainOptions): Promise<void> {
    const { gateway, id } = this.#parts;
    const outbox: Outbox = {
      isOpen: () => this.#websocket.readyState <= 1,
      queued: () => this.bufferedAmount,
      drained: (signal) => gateway.drained(id, { signal }),
    };
    return untilBelow(outbox, options);
  }

  /** The handshake is answered: the connection can be closed now. */
  opened(): void {
    this.#isOpening = false;
    this.#asked?.();
    this.#asked = undefined;
  }

  /** The connection is closed. */
  closed(): void {
    this.#isOpening = false;
    this.#asked = undefined;
    this.#websocket.readyState = 3;
    this.#parts.peers.delete(this.typed);
  }

  #end(act: () => void): void {
    this.#websocket.readyState = 2;
    if (this.#isOpening) this.#asked = act;
    else act();
  }

  toString(): string {
    return this.id;
  }

  [Symbol.toPrimitive](): string {
    return this.id;
  }

  [Symbol.toStringTag](): string {
    return 'WebSocket';
  }

  [Symbol.for('nodejs.util.inspect.custom')](): unknown {
    return { peer: { id: this.id, ip: this.remoteAddress } };
  }
}

const PLAIN = { compress: false };
