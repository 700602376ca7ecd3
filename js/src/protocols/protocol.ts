/** The contract between a protocol, the options and the workers. Types only. */

import type { NativeGateway, NativeWorker } from '../addon/native-interface.js';
import type { Fields } from '../options/fields.js';
import type { Range } from '../options/limit-values.js';
import type { LoadedModule } from '../worker/module.js';
import type { SocketEvent } from '../worker/record.js';
import type { Replies } from '../worker/replies.js';
import type { Transfers } from '../worker/transfers.js';
import type { HttpPlan } from './http-listener.js';

/** A protocol of listeners. `Plan` is the form in which the native side gets a listener's options. */
export interface ProtocolModule<Plan> {
  /** The value of a listener's option `protocol`. */
  readonly name: string;
  /** The names of its options, beside those that every listener has. */
  readonly keys: readonly string[];
  /** Its own limits with their ranges, beside those that every listener has. Default: none. */
  readonly limits?: Readonly<Record<string, Range>>;
  /**
   * Checks the options, adds every problem to the list, and returns the plan.
   *
   * @param at the listener's path for problems: `"options.bind[0]"`
   */
  read(listener: Fields, at: string, address: unknown, defaults: Defaults, problems: string[]): Plan;
  /** Makes the protocol's code for the events in a worker that call no handler. Called at the first such event. */
  worker?(host: ProtocolHost): ProtocolWorker;
}

/** Checked options of `StartOptions` that are the defaults of listeners. */
export interface Defaults {
  readonly http: HttpPlan;
}

/** What a protocol's code in a worker may use. */
export interface ProtocolHost {
  readonly gateway: NativeGateway;
  readonly worker: NativeWorker;
  readonly module: LoadedModule;
  readonly transfers: Transfers;
  /** Collects what handlers send. Data that is sent in another way must not overtake it. */
  readonly replies: Replies;
}

/** A protocol's code in a worker. */
export interface ProtocolWorker {
  /**
   * What events call, by number. The socket's next event does not wait for a promise that such a call returns, but the
   * end of the socket does, for as long as a handler may take.
   */
  readonly events: Readonly<Record<number, (event: ProtocolEvent) => unknown>>;
  /** A socket is closed, and no more events of it follow. Called at once, also while promises are pending. */
  closed(socketId: number, code: number, reason: string): void;
}

/** An event of a socket that its protocol reports. Its fields are views that are valid during the call. */
export type ProtocolEvent = SocketEvent;
