/** What a protocol is to the options and to the workers. Owns the types only. */

import type { Fields } from '../fields.js';
import type { Range } from '../limits.js';
import type { HttpPlan } from './http.js';

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
  /** In a worker: what its events mean, by number. Called with the first of them. */
  events?(): ProtocolEvents;
}

/** What `StartOptions` says for all listeners of a protocol, checked. */
export interface Defaults {
  readonly http: HttpPlan;
}

/** What is done with the events of protocols that call no handler, by number. A promise is waited for as a handler's. */
export type ProtocolEvents = Readonly<Record<number, (event: ProtocolEvent) => unknown>>;

/** An event of a socket that its protocol reports. */
export interface ProtocolEvent {
  readonly socketId: number;
  /** As handlers get it. */
  readonly token: Uint8Array | undefined;
  /** As the native side wrote them. A view, for as long as the call lasts. */
  readonly fields: Buffer;
  readonly payload: Uint8Array;
}
