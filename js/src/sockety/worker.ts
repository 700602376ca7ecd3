/** Sockety in a worker: its sockets' events, and the handler that messages call. Owns the connections of one thread. */

import type { ProtocolEvent, ProtocolHost, ProtocolWorker } from '../protocols/protocol.js';
import {
  EVENT_SOCKETY_ABORT,
  EVENT_SOCKETY_BEGAN,
  EVENT_SOCKETY_END,
  EVENT_SOCKETY_FAST_REPLY,
  EVENT_SOCKETY_FILE,
  EVENT_SOCKETY_GO_AWAY,
  EVENT_SOCKETY_MESSAGE,
  EVENT_SOCKETY_REFUSED,
  EVENT_SOCKETY_WRITTEN,
} from '../worker/kinds.generated.js';
import { Connection } from './connection.js';
import { SocketyError } from './errors.js';
import { readFile, readHead, readLong, readRefused } from './fields.js';
import { type Message, Response } from './message.js';

/** What is done with the events of Sockety in a thread. */
export function socketyWorker(host: ProtocolHost): ProtocolWorker {
  const connections = new Map<number, Connection>();
  const at = (socketId: number): Connection => {
    let connection = connections.get(socketId);
    if (connection === undefined) {
      connection = new Connection({ ...host, socketId, maxDataSize: MOST_DATA });
      connections.set(socketId, connection);
    }
    return connection;
  };
  return {
    events: {
      [EVENT_SOCKETY_MESSAGE]: (event) => received(host, at(event.socketId), event),
      [EVENT_SOCKETY_FILE]: ({ socketId, fields }) => {
        const { number, transfer, index } = readFile(fields);
        at(socketId).file(number, transfer, index);
      },
      [EVENT_SOCKETY_ABORT]: ({ socketId, fields }) => at(socketId).aborted(readLong(fields, 0)),
      [EVENT_SOCKETY_FAST_REPLY]: ({ socketId, fields }) => at(socketId).fastReplied(fields),
      [EVENT_SOCKETY_GO_AWAY]: ({ socketId }) => {
        at(socketId).emit('goAway');
      },
      [EVENT_SOCKETY_REFUSED]: ({ socketId, fields }) => at(socketId).refused(readRefused(fields)),
      [EVENT_SOCKETY_BEGAN]: ({ socketId, fields }) => at(socketId).began(fields),
      [EVENT_SOCKETY_END]: ({ socketId, fields }) => at(socketId).inputEnded(fields[0] === 1),
      [EVENT_SOCKETY_WRITTEN]: ({ socketId }) => at(socketId).noted(),
    },
    closed(socketId) {
      const connection = connections.get(socketId);
      connections.delete(socketId);
      connection?.ended();
    },
  };
}

function received(host: ProtocolHost, connection: Connection, event: ProtocolEvent): unknown {
  const message = connection.receive(readHead(event.fields), event.payload);
  if (message instanceof Response) {
    if (!connection.responded(message)) message.discard();
    return undefined;
  }
  const result = host.module.handleSocketyMessage?.(message, event.socketId, event.token);
  if (typeof (result as Promise<void> | undefined)?.then === 'function') return whenDone(message, result);
  message.settle();
  return undefined;
}

/** What nobody asked for when its handler is done is dropped. */
async function whenDone(message: Message, result: void | Promise<void>): Promise<void> {
  try {
    await result;
  } catch (error) {
    // that a client left, or changed its mind, is nobody's failure
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

/** Bytes of data that are collected at most. */
const MOST_DATA = 16 * 1024 * 1024;
