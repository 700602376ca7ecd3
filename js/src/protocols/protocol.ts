/** What a protocol is to the options and to the workers. Owns the types only. */

import type { NativeGateway, NativeWorker } from '../addon/native-interface.js';
import type { Fields } from '../options/fields.js';
import type { Range } from '../options/limit-values.js';
import type { LoadedModule } from '../worker/module.js';
import type { SocketEvent } from '../worker/record.js';
import type { Replies } from '../worker/replies.js';
import type { Transfers } from '../worker/transfers.js';
import type { HttpPlan } from './http-listener.js';

/** A protocol of listeners. `Plan` is what the native side is told of a listener that speaks it. */
export interface ProtocolModule<Plan> {
  /** As in a listener's option `protocol`. */
  readonly name: string;
  /** Its options of a listener, beside those that every listener has. */
  readonly keys: readonly string[];
  /** Its own limits of a listener, beside those that every listener has, and what their numbers can be. Default: none. */
  readonly limits?: Readonly<Record<string, Range>>;
  /**
   * Checks them, all problems at once, and makes the plan.
   *
   * @param at where the listener stands, for problems: `"options.bind[0]"`
   */
  read(listener: Fields, at: string, address: unknown, defaults: Defaults, problems: string[]): Plan;
  /** What is done in a worker with its events that call no handler. Called with the first of them. */
  worker?(host: ProtocolHost): ProtocolWorker;
}

/** What `StartOptions` says for all listeners of a protocol, checked. */
export interface Defaults {
  readonly http: HttpPlan;
}

/** What a protocol's code in a worker may use. */
export interface ProtocolHost {
  readonly gateway: NativeGateway;
  readonly worker: NativeWorker;
  readonly module: LoadedModule;
  readonly transfers: Transfers;
  /** What handlers send, collected: what is sent in another way must not overtake it. */
  readonly replies: Replies;
}

/** A protocol's code in a worker. */
export interface ProtocolWorker {
  /**
   * What is done with events, by number. The next event of a socket does not wait for a promise that one returns, but the
   * socket's end does, for as long as a handler may take.
   */
  readonly events: Readonly<Record<number, (event: ProtocolEvent) => unknown>>;
  /** A socket is gone: nothing more comes of it. Called at once, also while promises are pending. */
  closed(socketId: number, code: number, reason: string): void;
}

/** An event of a socket that its protocol reports. What it gives is a view, for as long as the call lasts. */
export type ProtocolEvent = SocketEvent;
