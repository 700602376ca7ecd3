/**
 * The fields of what passes between a Sockety session of the native side and this thread, as
 * `crates/gateway/src/adapter/sockety/fields.rs` lays them out. Reads and writes them, nothing else.
 */

import type { RecordBuffer, SocketEvent } from '../worker/record.js';

/** What a message or a response announces. */
export interface Head {
  /** Whether it answers something. */
  readonly isResponse: boolean;
  readonly expectsResponse: boolean;
  /** Counts those of its connection, from 1. */
  readonly number: number;
  /** The bytes of its id, and of the one that it answers, a character for each; of a message, the second are zeros. */
  readonly id: string;
  readonly parentId: string;
  readonly dataSize: number;
  readonly totalFilesSize: number;
  /** The transfers of its data, where that is not the payload, and of its stream; 0: there is none. */
  readonly data: number;
  readonly stream: number;
  /** Of a response: empty. */
  readonly action: string;
  readonly files: readonly FileHead[];
}

/** Whether anything belongs to it beside what it says of itself. */
export function hasContents({ dataSize, data, stream, files }: Head): boolean {
  return dataSize > 0 || data !== 0 || stream !== 0 || files.length > 0;
}

/** What is announced of a file. */
export interface FileHead {
  readonly name: string;
  readonly size: number;
}

/** Reads the fields of a message's event. */
export function readHead({ words, buffer, start }: SocketEvent): Head {
  const at = start >>> 2;
  const flags = word(words, at);
  const files = word(words, at + 1);
  const actionEnd = start + ACTION_AT + word(words, at + 20);
  // one call for all that is read as text
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

/** Reads the fields of a file's event: its message's number, its transfer, its place in the list. */
export function readFile(fields: Buffer): { number: number; transfer: number; index: number } {
  return { number: readLong(fields, 0), transfer: readLong(fields, 8), index: fields.readUInt32LE(16) };
}

/** Reads the code of a fast reply. */
export function readFastReply({ words, start }: SocketEvent): number {
  return word(words, start >>> 2);
}

/** Where in its event's buffer the bytes of the id lie that a fast reply answers. */
export function idOfFastReply({ start }: SocketEvent): number {
  return start + 4;
}

/** Reads the bytes of an id. */
export function readId(buffer: RecordBuffer, at: number): string {
  return buffer.latin1Slice(at, at + 16);
}

/** Reads what was refused: the bytes of its id. */
export function readRefused(fields: RecordBuffer): string {
  return fields.latin1Slice(4, 20);
}

/** Reads what has begun: the bytes of its id, and the transfers of its contents. */
export function readBegan(fields: RecordBuffer): { id: string; transfers: number[] } {
  const transfers: number[] = [];
  for (let at = 16; at + 8 <= fields.length; at += 8) transfers.push(readLong(fields, at));
  return { id: fields.latin1Slice(0, 16), transfers };
}

/** Reads a number of eight bytes. */
export function readLong(fields: Buffer, at: number): number {
  return fields.readUInt32LE(at + 4) * 2 ** 32 + fields.readUInt32LE(at);
}

/** What a message or a response that is sent says of itself. */
export interface Outgoing {
  /** The bytes of its id, a character for each. */
  readonly id: string;
  /** Of a response: those of what it answers. */
  readonly parentId: string | undefined;
  readonly expectsResponse: boolean;
  /** Of a response: empty. UTF-8. */
  readonly action: Buffer;
}

/** Bytes of the fields of a message that is sent whole. */
export function sendBytes(action: Buffer): number {
  return SEND_BYTES + action.length;
}

/** Writes them. */
export function writeSend(fields: RecordBuffer, at: number, outgoing: Outgoing): void {
  writeStart(fields, at, outgoing, false);
  fields.set(outgoing.action, at + SEND_BYTES);
}

/** Writes the fields of a message whose contents follow. */
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

/** Bytes of the fields of a fast reply. */
export const FAST_REPLY_BYTES = 20;

/** Writes them. */
export function writeFastReply(fields: RecordBuffer, at: number, code: number, id: string): void {
  fields.writeUInt32LE(code, at);
  writeId(fields, at + 4, id);
}

/** A native call would cost more than sixteen bytes do. */
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
  // without one these bytes say nothing
  if (parentId !== undefined) writeId(fields, at + 20, parentId);
}

/** Writes a number of eight bytes; returns the place behind it. */
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
/** The action is not all ASCII. */
const WIDE = 1 << 3;

/** Where a message's action begins; its length stands before it. */
const ACTION_AT = 84;

/** Flags and two ids. */
const SEND_BYTES = 36;

/** A number of eight bytes at a place in words. */
function long(words: Uint32Array, at: number): number {
  const high = word(words, at + 1);
  return high === 0 ? word(words, at) : high * 2 ** 32 + word(words, at);
}

function word(words: Uint32Array, at: number): number {
  return words[at] as number;
}

const NO_FILES: readonly FileHead[] = [];
