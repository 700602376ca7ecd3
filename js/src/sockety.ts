/**
 * Sockety: messages and responses with data, files and streams, many at the same time on one connection. This module
 * has servers and clients, and the classes that a worker's `handleSocketyMessage` uses, too.
 *
 * @module millrace/sockety
 */

import './addon/floor.js';

// in the bundle of a worker module, this copy of the package runs the worker, so that its handler uses this copy's
// classes
import './worker/boot.js';

export { MessageDataStream, MessageFileStream, MessageStream } from './sockety/contents.js';
export { Draft, type DraftInput, ResponseDraft } from './sockety/draft.js';
export { FastReply } from './sockety/fast-reply.js';
export { FileTransfer } from './sockety/file-transfer.js';
export { MessageHandler } from './sockety/message-handler.js';
/** The result of calling a draft, under its name in sockety-js. */
export type { Producer as ContentProducer } from './sockety/producer.js';
export {
  type Heartbeat,
  heartbeat,
  type Producer,
  type ResponseFactory,
  type Series,
  series,
} from './sockety/producer.js';
export { connect, secureConnect } from './sockety/sockety-client.js';
export {
  Connection,
  type ConnectionEvents,
  type Message,
  type Request,
  type Response,
} from './sockety/sockety-connection.js';
export { SocketyError, type SocketyErrorCode } from './sockety/sockety-errors.js';
export type {
  ConnectionOptions,
  ConnectOptions,
  ListenOptions,
  SecureConnectOptions,
  SecureServerOptions,
  ServerOptions,
} from './sockety/sockety-options.js';
export { createSecureServer, createServer, type Server, type ServerEvents } from './sockety/sockety-server.js';
export { UUID } from './sockety/uuid.js';
