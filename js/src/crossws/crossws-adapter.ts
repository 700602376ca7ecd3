/** The adapter: its peers, and what its handlers do with the events of the gateway. */

import type { Hooks, Peer, SyncDriver } from 'crossws' with { 'resolution-mode': 'import' };
import { ownWorkerData } from '../addon/runtime.js';
import { MillraceError } from '../errors.js';
import type { Gateway } from '../gateway/gateway.js';
import type { Name } from '../gateway/target.js';
import { threadGateway } from '../gateway/thread-gateway.js';
import { readable } from '../log/report.js';
import { readAnswer } from '../worker/admission.js';
import type { Acceptance, OpenAnswer, OpenRequest } from '../worker/open-request.js';
import { CrosswsMessage } from './crossws-message.js';
import { type CrosswsAdapter, type CrosswsHandlers, type CrosswsOptions, checkOptions } from './crossws-options.js';
import { CrosswsPeer } from './crossws-peer.js';
import { hooksByFetch } from './fetch-hooks.js';
import { HookCalls, isPromise, type RequestWithContext } from './hook-calls.js';
import { compressionOf, payloadOf } from './payload.js';
import { startRelay } from './sync-relay.js';
import { channelOf } from './topics.js';
import { type Refusal, requestOf, type Upgrade, upgrade } from './upgrade.js';

/** See the module. */
export class Adapter implements CrosswsAdapter {
  readonly handlers: CrosswsHandlers;
  /** The open peers of this thread by namespace. A namespace without peers is not kept. */
  readonly peers = new Map<string, Set<Peer>>();
  readonly sync?: SyncDriver;
  readonly #options: CrosswsOptions;
  readonly #calls: HookCalls;
  readonly #open = new Map<number, CrosswsPeer>();
  #gateway: Gateway | undefined;

  /** @throws {TypeError} naming the option that is wrong */
  constructor(options: CrosswsOptions | undefined) {
    this.#options = checkOptions(options);
    const { fetch, hooks, resolve } = this.#options;
    this.#calls = new HookCalls(
      hooks,
      fetch === undefined ? resolve : (request) => hooksByFetch(fetch, request as RequestWithContext) as never,
    );
    if (this.#options.sync !== undefined && ownWorkerData() !== undefined) {
      throw new TypeError("millraceAdapter: 'sync' is not available in worker threads; use the backplane of Millrace");
    }
    const relay = startRelay(
      this.#options,
      ({ topic, data, namespace }) => this.#publish(topic, data, namespace),
      (error, stage) => this.#report(`the sync driver of crossws failed (${stage})`, error),
    );
    if (relay !== undefined) this.sync = relay;
    this.handlers = this.#handlers();
  }

  channel(topic: string, namespace?: string): Name {
    return channelOf(topic, namespace);
  }

  publish(topic: string, data: unknown, options?: { compress?: boolean; namespace?: string }): void {
    const payload = payloadOf(data);
    this.#publish(topic, payload, options?.namespace, options);
    if (this.sync !== undefined) {
      void this.sync.publish({ namespace: options?.namespace ?? '', topic, data: payload });
    }
  }

  async close(code?: number, reason?: string): Promise<void> {
    this.closeAll(code, reason);
    await this.sync?.close?.();
  }

  closeAll(code?: number, reason?: string, force = false): void {
    for (const peer of this.#open.values()) {
      if (force) peer.terminate();
      else peer.close(code, reason);
    }
  }

  #publish(
    topic: string,
    data: string | Uint8Array,
    namespace: string | undefined,
    options?: { compress?: boolean },
  ): void {
    this.#ofThread().send(channelOf(topic, namespace), data, compressionOf(options));
  }

  #ofThread(): Gateway {
    return this.#gateway ?? threadGateway();
  }

  #handlers(): CrosswsHandlers {
    const { fetch } = this.#options;
    return {
      handleStart: (_arg, gateway) => {
        this.#gateway = gateway;
      },
      handleOpen: (id, ip, _headers, request) => this.#opening(id, ip, request),
      handleTextMessage: (text, id) => this.#message(id, text),
      handleBinaryMessage: (data, id) => this.#message(id, data),
      handleClose: (id, _token, code, reason) => this.#closed(id, code, reason),
      handleDrain: (id) => this.#call('drain', id),
      ...(this.#calls.mayHave('ping') && { handlePing: (id, _token, data = NOTHING) => this.#call('ping', id, data) }),
      ...(this.#calls.mayHave('pong') && { handlePong: (id, _token, data = NOTHING) => this.#call('pong', id, data) }),
      ...(fetch !== undefined && { fetch: (request: Request) => fetch(request) as Response | Promise<Response> }),
    };
  }

  /** Handles `handleOpen`. */
  #opening(id: number, ip: string, open: OpenRequest): OpenAnswer<Uint8Array> | Promise<OpenAnswer<Uint8Array>> {
    const request = requestOf(open, ip);
    const upgraded = upgrade(this.#calls, this.#options, request);
    const admit = (result: Upgrade | Refusal) =>
      result.isRefused ? result.answer : this.#admit(id, ip, open, request, result);
    if (!isPromise(upgraded)) return admit(upgraded);
    return Promise.resolve(upgraded).then((result) => {
      // the handler took too long, or the gateway is being stopped: the handshake was refused, and no close follows
      if (this.#ofThread().getDebugState('sockets', id) === undefined) return false;
      return admit(result);
    });
  }

  /**
   * Opens the peer. Its hook is called before the handshake is answered, because no event tells when it is; what the hook
   * sends follows the answer, and a close waits for it.
   *
   * @throws {TypeError} if the answer cannot be sent, which refuses the connection
   */
  #admit(id: number, ip: string, open: OpenRequest, request: RequestWithContext, upgraded: Upgrade): Acceptance<never> {
    const { context, namespace, hooks, headers, protocol, compress } = upgraded;
    const answer = { headers, ...(protocol !== undefined && { protocol }), ...(!compress && { compress }) };
    readAnswer(answer, open);
    let peers = this.peers.get(namespace);
    if (peers === undefined) {
      peers = new Set();
      this.peers.set(namespace, peers);
    }
    const peer = new CrosswsPeer({
      gateway: this.#ofThread(),
      id,
      ip,
      request,
      namespace,
      context,
      peers,
      hooks,
      protocol: protocol ?? '',
      compress,
      sync: this.sync,
      failed: (failed, error) => this.#tell(failed, error),
    });
    peers.add(peer.typed);
    this.#open.set(id, peer);
    this.#guard('open', peer, () => this.#calls.call('open', hooks, peer.typed));
    // after every promise job by which the answer reaches the gateway
    setImmediate(() => peer.opened());
    return answer;
  }

  #message(id: number, data: string | Uint8Array): void {
    const peer = this.#open.get(id);
    if (peer === undefined) return;
    const message = new CrosswsMessage(data, peer.typed).typed;
    this.#guard('message', peer, () => this.#calls.call('message', peer.hooks, peer.typed, message));
  }

  #closed(id: number, code: number | undefined, reason: string | undefined): void {
    const peer = this.#open.get(id);
    if (peer === undefined) return;
    this.#open.delete(id);
    peer.closed();
    if (peer.peers.size === 0) this.peers.delete(peer.namespace);
    const details = { ...(code !== undefined && { code }), ...(reason !== undefined && { reason }) };
    this.#guard('close', peer, () => this.#calls.call('close', peer.hooks, peer.typed, details));
  }

  #call(name: 'drain' | 'ping' | 'pong', id: number, data: Uint8Array = NOTHING): void {
    const peer = this.#open.get(id);
    if (peer === undefined) return;
    this.#guard(name, peer, () =>
      name === 'drain'
        ? this.#calls.call(name, peer.hooks, peer.typed)
        : this.#calls.call(name, peer.hooks, peer.typed, data),
    );
  }

  /**
   * Calls a hook. As everywhere in crossws, the next event does not wait for its promise. If it fails, the error is
   * reported and the connection is closed.
   */
  #guard(name: keyof Hooks, peer: CrosswsPeer, act: () => unknown): void {
    const failed = (cause: unknown): void => {
      this.#report(`hook ${name} failed for socket ${peer.socketId}`, cause);
      this.#tell(peer, cause);
      peer.close(INTERNAL_ERROR, 'Internal server error');
    };
    try {
      const result = act();
      if (isPromise(result)) result.then(undefined, failed);
    } catch (error) {
      failed(error);
    }
  }

  #report(what: string, cause: unknown): void {
    const error = new MillraceError('ERR_MILLRACE_HANDLER_FAILED', `${what}: ${readable(cause)}`, { cause });
    this.#ofThread().report(error);
  }

  /** Calls the hook `error`. */
  #tell(peer: CrosswsPeer, cause: unknown): void {
    const error = Object.assign(new Error(readable(cause), { cause }), { name: 'WSError' });
    const failed = (second: unknown) => this.#report(`hook error failed for socket ${peer.socketId}`, second);
    try {
      const result = this.#calls.call('error', peer.hooks, peer.typed, error);
      if (isPromise(result)) result.then(undefined, failed);
    } catch (second) {
      failed(second);
    }
  }
}

/** The data of a ping or a pong without data. */
const NOTHING = new Uint8Array(0);

/** RFC 6455 7.4.1. */
const INTERNAL_ERROR = 1011;
