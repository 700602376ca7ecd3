/**
 * Sockety: messages and responses with data, files and streams, many at a time on one connection. Messages come to
 * `handleSocketyMessage` of a worker module; this is what answers are made of.
 *
 * @module millrace/sockety
 */

export { Connection, type ConnectionEvents } from './sockety/connection.js';
export type { MessageDataStream, MessageFileStream, MessageStream } from './sockety/contents.js';
export { Draft, type DraftInput, ResponseDraft } from './sockety/draft.js';
export { SocketyError, type SocketyErrorCode } from './sockety/errors.js';
export { FastReply } from './sockety/fast-reply.js';
export { FileTransfer } from './sockety/file-transfer.js';
export type { Message, Response } from './sockety/message.js';
export { MessageHandler } from './sockety/message-handler.js';
export type { Producer, ResponseFactory } from './sockety/producer.js';
export type { Request } from './sockety/request.js';
export { UUID } from './sockety/uuid.js';
