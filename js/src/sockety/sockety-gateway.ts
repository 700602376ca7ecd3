/**
 * The gateway that the Sockety servers and clients of the process share, in this thread. Owns which server or client a
 * connection of this thread belongs to.
 */

import type { DialFailed } from '../addon/native-interface.js';
import { OwnGateway } from '../gateway/own-gateway.js';
import { nothing } from '../log/quiet.js';
import type { PeerInfo } from '../worker/peer.js';
import { Connection, type Message } from './sockety-connection.js';
import { type ConnectionOwner, setConnectionOwner } from './sockety-worker.js';

/** The owner of connections: a server, or one connection that was dialled. */
export interface TermsOwner {
  /** The most data that `dataBuffer` collects, in bytes. */
  readonly maxDataSize: number;
  /** Makes the connection of a socket that is open. */
  connectionOf(peer: PeerInfo): Connection;
  /** The header of the peer has arrived. */
  ready(connection: Connection): void;
}

/** See the module. Each thread has one, created on demand. */
export class Shared extends OwnGateway<TermsOwner> implements ConnectionOwner {
  /** The one of this thread. */
  static get(): Shared {
    ofThisThread ??= new Shared();
    return ofThisThread;
  }

  private constructor() {
    super('sockety');
    // messages are passed to the owner, so the handler does nothing
    this.startWith({ handlers: { handleSocketyMessage: nothing } });
    setConnectionOwner(this.native, this);
  }

  /** Connects to a peer. The connection belongs to `owner`. */
  dial(config: Record<string, unknown>, owner: TermsOwner, failed: (failure: DialFailed) => void): number {
    const id = this.supervisor.dial(config, failed);
    this.owners.set(id, owner);
    return id;
  }

  // What the native side reports.

  connectionOf(terms: number, peer: PeerInfo): Connection {
    const owner = this.owners.get(terms);
    // the server or client was closed meanwhile, and the connection ends with it
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
    // there is no listener that could read it
    if (!message.connection.emit('message', message)) message.discard();
    return undefined;
  }

  readonly #ownerOf = new WeakMap<Connection, TermsOwner>();
}

let ofThisThread: Shared | undefined;
