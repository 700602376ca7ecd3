/**
 * Encodes and decodes the fields of events and instructions between a Sockety session of the native side and this
 * thread, as `crates/gateway/src/adapter/sockety/fields.rs` lays them out.
 */

import type { RecordBuffer, SocketEvent } from '../worker/record.js';

/** The head of a message or a response. */
export interface Head {
  /** Whether it is a response. */
  readonly isResponse: boolean;
  readonly expectsResponse: boolean;
  /** Counts the messages of its connection, from 1. */
  readonly number: number;
  /**
   * The bytes of its id, and of the id that it answers, one character for each byte. In a message, the second are
   * zeros.
   */
  readonly id: string;
  readonly parentId: string;
  readonly dataSize: number;
  readonly totalFilesSize: number;
  /** The transfers of its data, if that is not the payload, and of its stream. 0: there is none. */
  readonly data: number;
  readonly stream: number;
  /** Empty for a response. */
  readonly action: string;
  readonly files: readonly FileHead[];
}

/** Whether a message has contents. */
export function hasContents({ dataSize, data, stream, files }: Head): boolean {
  return dataSize > 0 || data !== 0 || stream !== 0 || files.length > 0;
}

/** The announced name and size of a file. */
export interface FileHead {
  readonly name: string;
  readonly size: number;
}

/** Decodes the event of a message. */
export function readHead({ words, buffer, start }: SocketEvent): Head {
  const at = start >>> 2;
  const flags = word(words, at);
  const files = word(words, at + 1);
  const actionEnd = start + ACTION_AT + word(words, at + 20);
  // one call decodes everything that is read as text
  const text = buffer.latin1Slice(start + 16, actionEnd);
  return {
    isResponse: (flags & RESPONSE) !== 0,
    expectsResponse: (flags & EXPECTS_RESPONSE) !== 0,
    number: long(words, at + 2),
    id: text.substring(0, 16),
    parentId: text.substring(16, 32),
    dataSize: long(words, at + 12),
    totalFilesSize: long(words, at + 14),
    data: long(words, at + 16),
    stream: long(words, at + 18),
    action: (flags & WIDE) === 0 ? text.substring(68) : buffer.utf8Slice(start + ACTION_AT, actionEnd),
    files: files === 0 ? NO_FILES : readFiles(buffer, actionEnd, files),
  };
}

function readFiles(fields: RecordBuffer, start: number, count: number): readonly FileHead[] {
  const files: FileHead[] = [];
  for (let at = start; files.length < count; ) {
    const end = at + 12 + fields.readUInt32LE(at + 8);
    files.push({ size: readLong(fields, at), name: fields.utf8Slice(at + 12, end) });
    at = end;
  }
  return files;
}

/** Decodes the event of a file: its message's number, its transfer, and its index. */
export function readFile(fields: Buffer): { number: number; transfer: number; index: number } {
  return { number: readLong(fields, 0), transfer: readLong(fields, 8), index: fields.readUInt32LE(16) };
}

/** Decodes the code of a fast reply. */
export function readFastReply({ words, start }: SocketEvent): number {
  return word(words, start >>> 2);
}

/** The position of the id in the event of a fast reply. */
export function idOfFastReply({ start }: SocketEvent): number {
  return start + 4;
}

/** Decodes the bytes of an id. */
export function readId(buffer: RecordBuffer, at: number): string {
  return buffer.latin1Slice(at, at + 16);
}

/** Decodes the id of a message that could not be sent. */
export function readRefused(fields: RecordBuffer): string {
  return fields.latin1Slice(4, 20);
}

/** Decodes the event of a message that has begun: the bytes of its id, and the transfers of its contents. */
export function readBegan(fields: RecordBuffer): { id: string; transfers: number[] } {
  const transfers: number[] = [];
  for (let at = 16; at + 8 <= fields.length; at += 8) transfers.push(readLong(fields, at));
  return { id: fields.latin1Slice(0, 16), transfers };
}

/** Decodes a number of eight bytes. */
export function readLong(fields: Buffer, at: number): number {
  return fields.readUInt32LE(at + 4) * 2 ** 32 + fields.readUInt32LE(at);
}

/** The head of a message or a response that is sent. */
export interface Outgoing {
  /** The bytes of its id, one character for each. */
  readonly id: string;
  /** The bytes of the id that it answers. Undefined for a message. */
  readonly parentId: string | undefined;
  readonly expectsResponse: boolean;
  /** The action in UTF-8. Empty for a response. */
  readonly action: Buffer;
}

/** The size of the fields of a message that is sent whole. */
export function sendBytes(action: Buffer): number {
  return SEND_BYTES + action.length;
}

/** Encodes these fields. */
export function writeSend(fields: RecordBuffer, at: number, outgoing: Outgoing): void {
  writeStart(fields, at, outgoing, false);
  fields.set(outgoing.action, at + SEND_BYTES);
}

/** Encodes the fields of a message whose contents follow. */
export function writeBegin(
  outgoing: Outgoing,
  hasStream: boolean,
  dataSize: number,
  files: readonly FileHead[],
): Buffer {
  const names = files.map((file) => Buffer.from(file.name));
  const { action } = outgoing;
  let length = SEND_BYTES + 12 + action.length;
  for (const name of names) length += 12 + name.length;
  const fields = Buffer.allocUnsafe(length) as RecordBuffer;
  writeStart(fields, 0, outgoing, hasStream);
  let at = writeLong(fields, dataSize, SEND_BYTES);
  at = writeText(fields, action, at);
  for (const [index, name] of names.entries()) {
    at = writeLong(fields, files[index]?.size ?? 0, at);
    at = writeText(fields, name, at);
  }
  return fields;
}

/** The size of the fields of a fast reply. */
export const FAST_REPLY_BYTES = 20;

/** Encodes these fields. */
export function writeFastReply(fields: RecordBuffer, at: number, code: number, id: string): void {
  fields.writeUInt32LE(code, at);
  writeId(fields, at + 4, id);
}

/** Encodes the bytes of an id. A native call would cost more than a loop over sixteen bytes. */
function writeId(fields: RecordBuffer, at: number, id: string): void {
  for (let index = 0; index < 16; index++) fields[at + index] = id.charCodeAt(index);
}

function writeStart(
  fields: RecordBuffer,
  at: number,
  { id, parentId, expectsResponse }: Outgoing,
  hasStream: boolean,
): void {
  let flags = parentId === undefined ? 0 : RESPONSE;
  if (expectsResponse) flags |= EXPECTS_RESPONSE;
  if (hasStream) flags |= HAS_STREAM;
  fields.writeUInt32LE(flags, at);
  writeId(fields, at + 4, id);
  // without a parent, the flags say that these bytes have no meaning
  if (parentId !== undefined) writeId(fields, at + 20, parentId);
}

/** Encodes a number of eight bytes. Returns the position after it. */
export function writeLong(fields: Buffer, value: number, at: number): number {
  fields.writeUInt32LE(value % 2 ** 32, at);
  return fields.writeUInt32LE(Math.floor(value / 2 ** 32), at + 4);
}

function writeText(fields: Buffer, text: Buffer, at: number): number {
  const start = fields.writeUInt32LE(text.length, at);
  fields.set(text, start);
  return start + text.length;
}

// Bits of the first word.
const RESPONSE = 1;
const EXPECTS_RESPONSE = 1 << 1;
const HAS_STREAM = 1 << 2;
/** The action is not only ASCII. */
const WIDE = 1 << 3;

/** The position of a message's action. Its length comes before it. */
const ACTION_AT = 84;

/** The size of the flags and two ids. */
const SEND_BYTES = 36;

/** A number of eight bytes at a position in words. */
function long(words: Uint32Array, at: number): number {
  const high = word(words, at + 1);
  return high === 0 ? word(words, at) : high * 2 ** 32 + word(words, at);
}

function word(words: Uint32Array, at: number): number {
  return words[at] as number;
}

const NO_FILES: readonly FileHead[] = [];
