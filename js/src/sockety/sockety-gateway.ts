/**
 * The gateway that Sockety's servers and clients of the process share, as this thread has it. Owns which connection of this thread
 * belongs to whom.
 */

import type { DialFailed } from '../addon/native-interface.js';
import { OwnGateway } from '../gateway/own-gateway.js';
import { nothing } from '../log/quiet.js';
import type { PeerInfo } from '../worker/peer.js';
import { Connection, type Message } from './sockety-connection.js';
import { type ConnectionOwner, setConnectionOwner } from './sockety-worker.js';

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
export class Shared extends OwnGateway<TermsOwner> implements ConnectionOwner {
  /** That of this thread. */
  static get(): Shared {
    ofThisThread ??= new Shared();
    return ofThisThread;
  }

  private constructor() {
    super('sockety');
    // what messages call is the owner's affair
    this.startWith({ handlers: { handleSocketyMessage: nothing } });
    setConnectionOwner(this.native, this);
  }

  /** Connects; the connection goes by these terms. */
  dial(config: Record<string, unknown>, owner: TermsOwner, failed: (failure: DialFailed) => void): number {
    const id = this.supervisor.dial(config, failed);
    this.owners.set(id, owner);
    return id;
  }

  // What comes of the native side.

  connectionOf(terms: number, peer: PeerInfo): Connection {
    const owner = this.owners.get(terms);
    // they were stopped meanwhile, and it ends
    if (owner === undefined) return new Connection();
    const connection = owner.connectionOf(peer);
    this.#ownerOf.set(connection, owner);
    return connection;
  }

  maxDataSize(terms: number): number {
    return this.owners.get(terms)?.maxDataSize ?? 0;
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
