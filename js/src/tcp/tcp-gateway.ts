/**
 * The gateway that the TCP servers of the process share, in this thread. Owns which server of this thread a listener
 * belongs to.
 */

import type { MillraceError } from '../errors.js';
import { OwnGateway } from '../gateway/own-gateway.js';
import { nothing } from '../log/quiet.js';
import { print } from '../log/report.js';
import type { PeerInfo } from '../worker/peer.js';
import type { TCPConnection } from './tcp-connection.js';
import type { Link } from './tcp-link.js';
import { Streams } from './tcp-worker.js';

/** A server, as the owner of its connections. */
export interface StreamOwner {
  /** Makes a connection. Undefined: the server does not want it. */
  came(peer: PeerInfo, link: Link): TCPConnection | undefined;
  /** Reports an error of the native side. False: the server has no handler for it. */
  fails(error: MillraceError): boolean;
}

/** See the module. Each thread has one, created on demand. */
export class Shared extends OwnGateway<StreamOwner> {
  /** The one of this thread. */
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
        // with this handler, the native side wakes the thread when a connection ends
        handleClose: nothing,
        handleEnd: (socketId) => streams.find(socketId)?.inputEnded(),
      },
      limits: { unhandledBytes: ON_ITS_WAY },
      onError: (error) => this.#fails(error),
    });
  }

  /** Reports an error that belongs to no connection to every server of this thread. */
  #fails(error: MillraceError): void {
    const told = [...this.owners.values()].filter((owner) => owner.fails(error));
    if (told.length === 0) print(error);
  }
}

/**
 * Bytes of a connection that are read before its callbacks have seen earlier data; the last read, of 64 KiB, may exceed
 * this. As much may arrive while the native side is told to stop reading.
 */
const ON_ITS_WAY = 128 * 1024;

let ofThisThread: Shared | undefined;
