/**
 * The cycles of a server that may listen again after it was closed: when one ends, and whether signals end it. For servers
 * that `start` does not make.
 */

import { DONE, nothing } from '../log/quiet.js';
import { type DrainOptions, type Stoppable, stopOnSignals } from './signals.js';

/** See the module. A server has one of these for its whole life. */
export class ListenCycle {
  readonly #stop: (options?: DrainOptions) => Promise<void>;
  #signals: DrainOptions | undefined;
  /** The current cycle, as the signals see it. */
  #current: Promise<Stoppable> | undefined;
  #stopped: Promise<void> = DONE;
  #whenStopped: () => void = nothing;

  /** @param signals the option `stopOnSignals` of the server */
  constructor(stop: (options?: DrainOptions) => Promise<void>, signals: boolean | DrainOptions | undefined) {
    this.#stop = stop;
    if (signals) this.#signals = signals === true ? {} : signals;
  }

  /** Resolves when the server has ended; at once, unless it listens or starts to. */
  get stopped(): Promise<void> {
    return this.#stopped;
  }

  /** The server starts to listen. `listening` settles when it listens or cannot. */
  begin(listening: Promise<unknown>): void {
    let whenStopped = nothing;
    const stopped = new Promise<void>((resolve) => {
      whenStopped = resolve;
    });
    const current = listening.then(() => ({ stop: this.#stop, stopped }));
    this.#stopped = stopped;
    this.#whenStopped = whenStopped;
    this.#current = current;
    current.catch(() => {
      whenStopped();
      if (this.#current === current) this.#current = undefined;
    });
    if (this.#signals !== undefined) stopOnSignals(current, this.#signals);
  }

  /** The server has ended. */
  end(): void {
    this.#current = undefined;
    this.#whenStopped();
  }

  /** Signals end the server from now on, whenever it listens. Only the first call counts. */
  stopOnSignals(options: DrainOptions = {}): void {
    if (this.#signals !== undefined) return;
    this.#signals = options;
    if (this.#current !== undefined) stopOnSignals(this.#current, options);
  }
}
