/** The events of raw TCP streams in their thread. Owns which connection a socket is. */

import type { NativeGateway } from '../addon/native-interface.js';
import type { ProtocolEvent, ProtocolHost, ProtocolWorker } from '../protocols/protocol.js';
import { EVENT_TCP_OPENED, EVENT_TCP_WRITTEN } from '../worker/kinds.generated.js';
import { type PeerInfo, readOpened } from '../worker/peer.js';
import type { TCPConnection } from './tcp-connection.js';
import type { Link } from './tcp-link.js';

/** Makes the connection of an open socket. `terms` is the id of its listener. */
export type Opener = (terms: number, peer: PeerInfo, link: Link) => TCPConnection | undefined;

/** The sockets of one gateway. */
export class Streams {
  readonly #connections = new Map<number, TCPConnection>();
  readonly #open: Opener;

  constructor(open: Opener) {
    this.#open = open;
  }

  /** Makes the streams of a gateway. */
  static of(gateway: NativeGateway, open: Opener): Streams {
    const streams = new Streams(open);
    ALL.set(gateway, streams);
    return streams;
  }

  find(socketId: number): TCPConnection | undefined {
    return this.#connections.get(socketId);
  }

  opened({ socketId, fields }: ProtocolEvent, host: ProtocolHost): void {
    const { terms, peer } = readOpened(fields);
    const link = { worker: host.worker, gateway: host.gateway, socketId };
    const connection = this.#open(terms, peer, link);
    // its listener has been stopped, and it ends with that
    if (connection === undefined) return;
    this.#connections.set(socketId, connection);
    connection.opened();
  }

  closed(socketId: number): void {
    const connection = this.#connections.get(socketId);
    this.#connections.delete(socketId);
    connection?.gone();
  }
}

const ALL = new WeakMap<NativeGateway, Streams>();

/**
 * Makes the code that handles the events of streams in a thread. Only a gateway with servers of this thread has such
 * events.
 */
export function tcpWorker(host: ProtocolHost): ProtocolWorker {
  const streams = ALL.get(host.gateway);
  return {
    events: {
      [EVENT_TCP_OPENED]: (event) => streams?.opened(event, host),
      [EVENT_TCP_WRITTEN]: ({ socketId }) => streams?.find(socketId)?.written(),
    },
    closed: (socketId) => streams?.closed(socketId),
  };
}
