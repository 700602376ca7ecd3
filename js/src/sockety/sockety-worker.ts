/**
 * Sockety in a worker: handles the events of its sockets, and calls the handler for messages. Owns the connections of
 * one thread.
 */

import type { NativeGateway } from '../addon/native-interface.js';
import { DONE } from '../log/quiet.js';
import type { ProtocolEvent, ProtocolHost, ProtocolWorker } from '../protocols/protocol.js';
import {
  EVENT_SOCKETY_ABORT,
  EVENT_SOCKETY_BEGAN,
  EVENT_SOCKETY_END,
  EVENT_SOCKETY_FAST_REPLY,
  EVENT_SOCKETY_FILE,
  EVENT_SOCKETY_FILE_SAVED,
  EVENT_SOCKETY_FILE_SENT,
  EVENT_SOCKETY_GO_AWAY,
  EVENT_SOCKETY_HEARTBEAT,
  EVENT_SOCKETY_MESSAGE,
  EVENT_SOCKETY_OPENED,
  EVENT_SOCKETY_READY,
  EVENT_SOCKETY_REFUSED,
  EVENT_SOCKETY_TIMEOUT,
  EVENT_SOCKETY_WRITTEN,
} from '../worker/kinds.generated.js';
import { type PeerInfo, readOpened } from '../worker/peer.js';
import { Tells } from '../worker/tells.js';
import { readFile, readHead, readLong, readRefused } from './record-fields.js';
import { Connection, type Message, Response } from './sockety-connection.js';
import { errorOfEnd, noChannel, notSent, SocketyError } from './sockety-errors.js';

/** The owner of a gateway's connections: the handlers of a worker module, or servers and clients. */
export interface ConnectionOwner {
  /** Makes the connection of an open socket. `terms` is the id of its listener, or of the call that dialled. */
  connectionOf(terms: number, peer: PeerInfo): Connection;
  /** The most data that `dataBuffer` collects on such a connection, in bytes. */
  maxDataSize(terms: number): number;
  /** The header of the peer has arrived. */
  ready(connection: Connection): void;
  /** Handles a message. Returns a promise if that is not done at once. */
  message(message: Message, event: ProtocolEvent): unknown;
}

/** Sets an owner other than the handlers of the gateway's worker. */
export function setConnectionOwner(gateway: NativeGateway, owner: ConnectionOwner): void {
  OWNERS.set(gateway, owner);
}

const OWNERS = new WeakMap<NativeGateway, ConnectionOwner>();

/** Makes the code that handles the events of Sockety in a thread. */
export function socketyWorker(host: ProtocolHost): ProtocolWorker {
  const owner = OWNERS.get(host.gateway) ?? new Handlers(host);
  const connections = new Map<number, Connection>();
  const tells = new Tells(host.worker, host.replies, (socketId, operation, fields) => {
    connections.get(socketId)?.untold(operation, fields);
  });
  const open = ({ socketId, fields }: ProtocolEvent): void => {
    const { terms, peer } = readOpened(fields);
    const link = { ...host, tells, socketId, maxDataSize: owner.maxDataSize(terms) };
    const connection = owner.connectionOf(terms, peer);
    connections.set(socketId, connection);
    connection.opened(link, peer);
  };
  /** Ignores events of a socket whose connection has ended or belonged to another worker. */
  const known =
    (call: (connection: Connection, event: ProtocolEvent) => unknown) =>
    (event: ProtocolEvent): unknown => {
      const connection = connections.get(event.socketId);
      return connection === undefined || connection.closed ? undefined : call(connection, event);
    };
  return {
    events: {
      [EVENT_SOCKETY_OPENED]: open,
      [EVENT_SOCKETY_READY]: known((connection, { fields }) => {
        connection.becomesReady(readLong(fields, 0), () => owner.ready(connection));
      }),
      [EVENT_SOCKETY_MESSAGE]: known((connection, event) => received(owner, connection, event)),
      [EVENT_SOCKETY_FILE]: known((connection, { fields }) => {
        const { number, transfer, index } = readFile(fields);
        connection.file(number, transfer, index);
      }),
      [EVENT_SOCKETY_ABORT]: known((connection, { fields }) => connection.aborted(readLong(fields, 0))),
      [EVENT_SOCKETY_FAST_REPLY]: known((connection, event) => connection.fastReplied(event)),
      [EVENT_SOCKETY_GO_AWAY]: known((connection) => {
        connection.emit('goAway');
      }),
      [EVENT_SOCKETY_HEARTBEAT]: known((connection, { fields }) => connection.heartbeats(fields.readUInt32LE(0))),
      [EVENT_SOCKETY_TIMEOUT]: known((connection) => {
        connection.emit('timeout');
      }),
      [EVENT_SOCKETY_REFUSED]: known((connection, { fields, payload }) => {
        connection.refused(readRefused(fields), payload.length > 0 ? noChannel() : notSent());
      }),
      [EVENT_SOCKETY_BEGAN]: known((connection, { fields }) => connection.began(fields)),
      [EVENT_SOCKETY_FILE_SENT]: known((connection, { fields, payload }) => {
        connection.fileSent(readLong(fields, 0), payload.toString());
      }),
      [EVENT_SOCKETY_FILE_SAVED]: known((connection, { fields, payload }) => {
        connection.fileSaved(fields, payload.toString());
      }),
      [EVENT_SOCKETY_END]: known((connection, { fields }) => connection.inputEnded(fields[0] === 1)),
      [EVENT_SOCKETY_WRITTEN]: known((connection) => connection.noted()),
    },
    closed(socketId, code, reason) {
      const connection = connections.get(socketId);
      connections.delete(socketId);
      connection?.ended(errorOfEnd(code, reason));
    },
  };
}

function received(owner: ConnectionOwner, connection: Connection, event: ProtocolEvent): unknown {
  const message = connection.receive(readHead(event), event.payload);
  if (message instanceof Response) {
    if (!connection.responded(message)) message.discard();
    return undefined;
  }
  return owner.message(message, event);
}

/** Connections whose messages go to the handler of a worker module. */
class Handlers implements ConnectionOwner {
  readonly #host: ProtocolHost;

  constructor(host: ProtocolHost) {
    this.#host = host;
  }

  connectionOf(): Connection {
    return new Connection();
  }

  maxDataSize(): number {
    return MOST_DATA;
  }

  ready(): void {}

  message(message: Message, { socketId, token }: ProtocolEvent): unknown {
    const result = this.#host.module.handleSocketyMessage?.(message, socketId, token);
    if (result === DONE) return undefined;
    if (typeof (result as Promise<void> | undefined)?.then !== 'function') {
      message.settle();
      return undefined;
    }
    return message.handled === result ? result : whenDone(message, result);
  }
}

/** Waits for the handler, and then drops contents that were not requested. */
async function whenDone(message: Message, result: void | Promise<void>): Promise<void> {
  try {
    await result;
  } catch (error) {
    // a client that left, or aborted its message, is not an error of the handler
    if (!(error instanceof SocketyError && isOfClient(message, error))) throw error;
  } finally {
    message.settle();
  }
}

function isOfClient(message: Message, { code }: SocketyError): boolean {
  return code === 'ERR_SOCKETY_CLOSED'
    ? message.connection.hasEnded
    : code === 'ERR_SOCKETY_ABORTED' && message.wasAborted;
}

/** The most bytes of data that are collected. */
export const MOST_DATA = 16 * 1024 * 1024;
