/**
 * A gateway without a worker module that the servers and clients of all threads of the process share. It runs from its
 * first use until its last user leaves. Owns this thread's users of it, and the owners of its listeners' connections.
 * Applications cannot reach it by a name.
 */

import { binding } from '../addon/binding.js';
import type { NativeGateway } from '../addon/native-interface.js';
import { nothing } from '../log/quiet.js';
import { AT_ONCE } from '../options/server-options.js';
import { Gateway, type StartOptions } from './gateway.js';
import type { Begun, Supervisor } from './supervisor.js';

/** The options that such a gateway is started with. */
export type OwnOptions = Pick<StartOptions, 'handlers' | 'limits' | 'onError'>;

/** See the module; each thread has one. An `Owner` is the server or client that a listener's connections belong to. */
export class OwnGateway<Owner> {
  readonly native: NativeGateway;
  readonly supervisor: Supervisor;
  protected readonly owners = new Map<number, Owner>();
  #options: OwnOptions = {};
  /** Users in this thread. */
  #users = 0;
  /** Users that keep the process running. */
  #holders = 0;
  #starting: Promise<Begun> | undefined;
  #ending: Promise<unknown> = Promise.resolve();

  /** `name`: all of the process with the same name are one gateway. */
  protected constructor(name: string) {
    const { gateway: native, id } = binding().sharedGateway(name);
    this.native = native;
    this.supervisor = Gateway.create(native, id).supervisor as Supervisor;
  }

  /** Sets the options of the next start. */
  protected startWith(options: OwnOptions): void {
    this.#options = options;
  }

  /**
   * Registers a user, until `leave`. Resolves when the gateway runs: this thread starts it, or joins threads that did.
   */
  async enter(): Promise<void> {
    this.#users += 1;
    this.#starting ??= this.#ending.then(() => this.supervisor.begin({ bind: [], ...this.#options }));
    const starting = this.#starting;
    try {
      await starting;
    } catch (error) {
      // the next call tries again
      if (this.#starting === starting) this.#starting = undefined;
      throw error;
    }
    this.#hold();
  }

  /**
   * Ends a use that `enter` began, also one that failed. After this thread's last user, it resolves when nothing of
   * this thread is left in the gateway; after the last user of the process, when the gateway has ended.
   */
  async leave(): Promise<void> {
    this.#users -= 1;
    const starting = this.#starting;
    if (this.#users > 0 || starting === undefined) return;
    this.#starting = undefined;
    // keep the process running until the gateway has ended
    this.#holders += 1;
    this.#hold();
    this.#ending = starting.then((begun) => this.supervisor.finish(begun, AT_ONCE)).catch(nothing);
    await this.#ending;
    this.#holders -= 1;
  }

  /** Registers a user that keeps the process running. */
  hold(): void {
    this.#holders += 1;
    this.#hold();
  }

  /** Ends a use that `hold` began. */
  release(): void {
    this.#holders -= 1;
    this.#hold();
  }

  #hold(): void {
    if (this.native.isRunning()) this.native.setHeld(this.#holders > 0);
  }

  /** Listens. The connections of the listener belong to `owner`. */
  listen(config: Record<string, unknown>, owner: Owner): { id: number; address: string } {
    const listening = this.native.listen(config);
    this.owners.set(listening.id, owner);
    return listening;
  }

  /** Stops a listener, or closes a connection that was dialled. */
  stop(id: number): Promise<void> {
    this.owners.delete(id);
    return this.supervisor.stopListeners([id], 0);
  }
}
