/**
 * A gateway that the servers and clients of all threads of the process share, without a worker module: it runs from the first use
 * to the last one's end. Owns this thread's part of it, and whose the connections of a listener are; it has no name outside.
 */

import { binding } from '../addon/binding.js';
import type { NativeGateway } from '../addon/native-interface.js';
import { nothing } from '../log/quiet.js';
import { Gateway, type StartOptions } from './gateway.js';
import type { Begun, Supervisor } from './supervisor.js';

/** What a gateway of our own is started with. */
export type OwnOptions = Pick<StartOptions, 'handlers' | 'limits' | 'onError'>;

/** See the module; one for each thread. Whoever's connections go by some terms is an `Owner`. */
export class OwnGateway<Owner> {
  readonly native: NativeGateway;
  readonly supervisor: Supervisor;
  protected readonly owners = new Map<number, Owner>();
  #options: OwnOptions = {};
  /** In this thread. */
  #users = 0;
  /** Those of them that keep the process running. */
  #holders = 0;
  #starting: Promise<Begun> | undefined;
  #ending: Promise<unknown> = Promise.resolve();

  /** `name`: those of the process with the same one are one gateway. */
  protected constructor(name: string) {
    const { gateway: native, id } = binding().sharedGateway(name);
    this.native = native;
    this.supervisor = Gateway.create(native, id).supervisor as Supervisor;
  }

  /** What it is started with, the next time. */
  protected startWith(options: OwnOptions): void {
    this.#options = options;
  }

  /** Somebody uses it until `leave`. Resolves when it runs: this thread starts it, or joins those that did. */
  async enter(): Promise<void> {
    this.#users += 1;
    this.#starting ??= this.#ending.then(() => this.supervisor.begin({ bind: [], ...this.#options }));
    const starting = this.#starting;
    try {
      await starting;
    } catch (error) {
      // the next one tries again
      if (this.#starting === starting) this.#starting = undefined;
      throw error;
    }
    this.#hold();
  }

  /**
   * The opposite of `enter`, also of one that failed. If it was the last of this thread, it resolves when nothing of this thread is
   * left there; if it was the last of the process, when nothing runs any more.
   */
  async leave(): Promise<void> {
    this.#users -= 1;
    const starting = this.#starting;
    if (this.#users > 0 || starting === undefined) return;
    this.#starting = undefined;
    // until it is over
    this.#holders += 1;
    this.#hold();
    this.#ending = starting.then((begun) => this.supervisor.finish(begun, 0)).catch(nothing);
    await this.#ending;
    this.#holders -= 1;
  }

  /** Somebody keeps the process running. */
  hold(): void {
    this.#holders += 1;
    this.#hold();
  }

  /** The opposite of `hold`. */
  release(): void {
    this.#holders -= 1;
    this.#hold();
  }

  #hold(): void {
    if (this.native.isRunning()) this.native.setHeld(this.#holders > 0);
  }

  /** Listens; connections go by these terms. */
  listen(config: Record<string, unknown>, owner: Owner): { id: number; address: string } {
    const listening = this.native.listen(config);
    this.owners.set(listening.id, owner);
    return listening;
  }

  /** Stops listening, or hangs up. */
  stop(id: number): Promise<void> {
    this.owners.delete(id);
    return this.supervisor.stopListeners([id], 0);
  }
}
