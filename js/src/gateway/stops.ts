/** Stops of listeners in progress: their tickets, and who waits for their end. Decides nothing. */

import type { NativeGateway } from '../addon/native-interface.js';
import { DONE, nothing } from '../log/quiet.js';
import { DRAIN_MS, type StopPlan } from '../options/server-options.js';

/** A stop in progress. */
export interface Stop {
  readonly stopped: Promise<void>;
  /** Makes it shorter, if the times are given and are shorter. */
  hasten(plan: StopPlan): void;
}

/** See the module. */
export class Stops {
  readonly #native: NativeGateway;
  readonly #waiting = new Map<number, () => void>();

  constructor(native: NativeGateway) {
    this.#native = native;
  }

  /** Stops listeners, or closes connections that were dialled. */
  begin(ids: number[], { drainMs = DRAIN_MS, spreadMs = 0, code }: StopPlan): Stop {
    if (ids.length === 0) return { stopped: DONE, hasten: nothing };
    const ticket = this.#native.stopListeners(ids, drainMs, spreadMs, code);
    const stopped = new Promise<void>((resolve) => this.#waiting.set(ticket, resolve));
    return { stopped, hasten: (plan) => this.#hasten(ticket, plan) };
  }

  #hasten(ticket: number, { drainMs, spreadMs }: StopPlan): void {
    const isGiven = drainMs !== undefined || spreadMs !== undefined;
    if (isGiven && this.#waiting.has(ticket)) this.#native.hastenStop(ticket, drainMs, spreadMs);
  }

  /** A stop is over. */
  ended(ticket: number): void {
    const resolve = this.#waiting.get(ticket) ?? nothing;
    this.#waiting.delete(ticket);
    resolve();
  }
}
