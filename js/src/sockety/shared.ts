/**
 * The gateway that the servers and clients of this thread share: it runs from the first use to the last close. Owns that, and
 * which connection belongs to whom; it has no name outside.
 */

import { binding, type DialFailed, type NativeGateway } from '../binding.js';
import { Gateway } from '../gateway.js';
import type { Begun, Supervisor } from '../supervisor.js';
import { Connection } from './connection.js';
import type { PeerInfo } from './link.js';
import type { Message } from './message.js';
import { nothing } from './quiet.js';
import { type ConnectionOwner, setConnectionOwner } from './worker.js';

/** A server, or one connection that was dialled: whose connections go by its terms. */
export interface TermsOwner {
  /** The most data that is collected for `dataBuffer`, in bytes. */
  readonly maxDataSize: number;
  /** A connection's socket is there. */
  connectionOf(peer: PeerInfo): Connection;
  /** The header of its peer has come. */
  ready(connection: Connection): void;
}

/** See the module. One for each thread, made when it is needed. */
export class Shared implements ConnectionOwner {
  readonly native: NativeGateway;
  readonly supervisor: Supervisor;
  readonly #owners = new Map<number, TermsOwner>();
  #users = 0;
  /** Users that keep the process running. */
  #holders = 0;
  #starting: Promise<Begun> | undefined;
  #ending: Promise<unknown> = Promise.resolve();

  /** That of this thread. */
  static get(): Shared {
    ofThisThread ??= new Shared();
    return ofThisThread;
  }

  private constructor() {
    const { gateway: native, id } = binding().createGateway();
    this.native = native;
    this.supervisor = Gateway.create(native, id).supervisor as Supervisor;
    setConnectionOwner(native, this);
  }

  /** Somebody uses it until `leave`. Resolves when it runs. */
  async enter(): Promise<void> {
    this.#users += 1;
    this.#starting ??= this.#ending.then(() => this.#start());
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

  /** The opposite of `enter`, also of one that failed. Resolves when nothing of it runs any more, if it was the last. */
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

  #start(): Promise<Begun> {
    // what messages call is the owner's affair
    return this.supervisor.begin({ bind: [], handlers: { handleSocketyMessage: nothing } });
  }

  // Terms.

  /** Listens; connections go by these terms. */
  listen(config: Record<string, unknown>, owner: TermsOwner): { id: number; address: string } {
    const listening = this.native.listen(config);
    this.#owners.set(listening.id, owner);
    return listening;
  }

  /** Connects; the connection goes by these terms. */
  dial(config: Record<string, unknown>, owner: TermsOwner, failed: (failure: DialFailed) => void): number {
    const id = this.supervisor.dial(config, failed);
    this.#owners.set(id, owner);
    return id;
  }

  /** Stops listening, or hangs up. */
  stop(id: number): Promise<void> {
    this.#owners.delete(id);
    return this.supervisor.stopListeners([id], 0);
  }

  // What comes of the native side.

  connectionOf(terms: number, peer: PeerInfo): Connection {
    const owner = this.#owners.get(terms);
    // they were stopped meanwhile, and it ends
    if (owner === undefined) return new Connection();
    const connection = owner.connectionOf(peer);
    this.#ownerOf.set(connection, owner);
    return connection;
  }

  maxDataSize(terms: number): number {
    return this.#owners.get(terms)?.maxDataSize ?? 0;
  }

  ready(connection: Connection): void {
    this.#ownerOf.get(connection)?.ready(connection);
  }

  message(message: Message): undefined {
    // nobody will read it
    if (!message.connection.emit('message', message)) message.discard();
    return undefined;
  }

  readonly #ownerOf = new WeakMap<Connection, TermsOwner>();
}

let ofThisThread: Shared | undefined;
