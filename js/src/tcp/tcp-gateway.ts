/** The gateway that the TCP servers of the process share, as this thread has it. Owns which server of this thread has a listener. */

import type { MillraceError } from '../errors.js';
import { OwnGateway } from '../gateway/own-gateway.js';
import { nothing } from '../log/quiet.js';
import { print } from '../log/report.js';
import type { PeerInfo } from '../worker/peer.js';
import type { TCPConnection } from './tcp-connection.js';
import type { Link } from './tcp-link.js';
import { Streams } from './tcp-worker.js';

/** A server, as its connections go to it. */
export interface StreamOwner {
  /** A connection is there. Undefined: nobody wants it. */
  came(peer: PeerInfo, link: Link): TCPConnection | undefined;
  /** Something failed on the native side. False: nobody wants to know. */
  fails(error: MillraceError): boolean;
}

/** See the module. One for each thread, made when it is needed. */
export class Shared extends OwnGateway<StreamOwner> {
  /** That of this thread. */
  static get(): Shared {
    ofThisThread ??= new Shared();
    return ofThisThread;
  }

  private constructor() {
    super('tcp');
    const streams = Streams.of(this.native, (terms, peer, link) => this.owners.get(terms)?.came(peer, link));
    this.startWith({
      handlers: {
        handleBinaryMessage: (data, socketId) => streams.find(socketId)?.received(data as Buffer),
        // the native side wakes this thread for ends that somebody handles
        handleClose: nothing,
        handleEnd: (socketId) => streams.find(socketId)?.inputEnded(),
      },
      limits: { unhandledBytes: ON_ITS_WAY },
      onError: (error) => this.#fails(error),
    });
  }

  /** What failed is no connection's: each server of this thread may be concerned. */
  #fails(error: MillraceError): void {
    const told = [...this.owners.values()].filter((owner) => owner.fails(error));
    if (told.length === 0) print(error);
  }
}

/**
 * Bytes of a connection that are read while its callbacks have not seen what came before; the last read of 64 KiB may go beyond.
 * As much may come while the native side is told that a connection has enough.
 */
const ON_ITS_WAY = 128 * 1024;

let ofThisThread: Shared | undefined;
