/**
 * The fields of what passes between a Sockety session of the native side and this thread, as
 * `crates/gateway/src/adapter/sockety/fields.rs` lays them out. Reads and writes them, nothing else.
 */

import type { PeerInfo } from './link.js';
import { UUID } from './uuid.js';

/** What a message or a response announces. */
export interface Head {
  /** Whether it answers something. */
  readonly isResponse: boolean;
  readonly expectsResponse: boolean;
  /** Counts those of its connection, from 1. */
  readonly number: number;
  readonly id: UUID;
  /** What it answers; of a message: zeros. */
  readonly parentId: UUID;
  readonly dataSize: number;
  readonly totalFilesSize: number;
  /** The transfers of its data, where that is not the payload, and of its stream; 0: there is none. */
  readonly data: number;
  readonly stream: number;
  /** Of a response: empty. */
  readonly action: string;
  readonly files: readonly FileHead[];
}

/** What is announced of a file. */
export interface FileHead {
  readonly name: string;
  readonly size: number;
}

/** Reads the fields of a connection's event: by whose terms it is there, and who is at its other end. */
export function readOpened(fields: Buffer): { terms: number; peer: PeerInfo } {
  const remoteAddress = fields.length > OPENED_BYTES ? fields.toString('latin1', OPENED_BYTES) : undefined;
  const port = fields.readUInt32LE(4);
  const peer = {
    remoteAddress,
    remotePort: remoteAddress === undefined ? undefined : port,
    encrypted: fields.readUInt32LE(8) === 1,
  };
  return { terms: fields.readUInt32LE(0), peer };
}

/** Reads the fields of a message's event. */
export function readHead(fields: Buffer): Head {
  const view = fields as Fields;
  const flags = view.readUInt32LE(0);
  const actionEnd = ACTION_AT + view.readUInt32LE(ACTION_AT - 4);
  return {
    isResponse: (flags & RESPONSE) !== 0,
    expectsResponse: (flags & EXPECTS_RESPONSE) !== 0,
    number: readLong(view, 8),
    id: UUID.ofBytes(view.latin1Slice(16, 32)),
    parentId: UUID.ofBytes(view.latin1Slice(32, 48)),
    dataSize: readLong(view, 48),
    totalFilesSize: readLong(view, 56),
    data: readLong(view, 64),
    stream: readLong(view, 72),
    action: view.utf8Slice(ACTION_AT, actionEnd),
    files: readFiles(view, actionEnd, view.readUInt32LE(4)),
  };
}

function readFiles(fields: Fields, start: number, count: number): readonly FileHead[] {
  if (count === 0) return NO_FILES;
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

/** Reads the fields of a fast reply: its code, and the bytes of the id that it answers. */
export function readFastReply(fields: Buffer): { code: number; id: string } {
  return { code: fields.readUInt32LE(0), id: (fields as Fields).latin1Slice(4, 20) };
}

/** Reads what was refused: the bytes of its id. */
export function readRefused(fields: Buffer): string {
  return (fields as Fields).latin1Slice(4, 20);
}

/** Reads what has begun: the bytes of its id, and the transfers of its contents. */
export function readBegan(fields: Buffer): { id: string; transfers: number[] } {
  const transfers: number[] = [];
  for (let at = 16; at + 8 <= fields.length; at += 8) transfers.push(readLong(fields, at));
  return { id: (fields as Fields).latin1Slice(0, 16), transfers };
}

/** Reads a number of eight bytes. */
export function readLong(fields: Buffer, at: number): number {
  return fields.readUInt32LE(at + 4) * 2 ** 32 + fields.readUInt32LE(at);
}

/** What a message or a response that is sent says of itself. */
export interface Outgoing {
  readonly id: UUID;
  /** Of a response: what it answers. */
  readonly parentId: UUID | undefined;
  readonly expectsResponse: boolean;
  /** Of a response: empty. UTF-8. */
  readonly action: Buffer;
}

/** Bytes of the fields of a message that is sent whole. */
export function sendBytes(action: Buffer): number {
  return SEND_BYTES + action.length;
}

/** Writes them. */
export function writeSend(fields: Buffer, at: number, outgoing: Outgoing): void {
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
  const fields = Buffer.allocUnsafe(length);
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
export function writeFastReply(fields: Buffer, at: number, code: number, id: UUID): void {
  fields.writeUInt32LE(code, at);
  id.write(fields, at + 4);
}

function writeStart(fields: Buffer, at: number, { id, parentId, expectsResponse }: Outgoing, hasStream: boolean): void {
  let flags = parentId === undefined ? 0 : RESPONSE;
  if (expectsResponse) flags |= EXPECTS_RESPONSE;
  if (hasStream) flags |= HAS_STREAM;
  fields.writeUInt32LE(flags, at);
  id.write(fields, at + 4);
  if (parentId === undefined) fields.fill(0, at + 20, at + SEND_BYTES);
  else parentId.write(fields, at + 20);
}

function writeLong(fields: Buffer, value: number, at: number): number {
  fields.writeUInt32LE(value % 2 ** 32, at);
  return fields.writeUInt32LE(Math.floor(value / 2 ** 32), at + 4);
}

function writeText(fields: Buffer, text: Buffer, at: number): number {
  const start = fields.writeUInt32LE(text.length, at);
  fields.set(text, start);
  return start + text.length;
}

/** A `Buffer` with the decoders that skip argument checks; they exist in Node, Bun and Deno. */
interface Fields extends Buffer {
  latin1Slice(start: number, end: number): string;
  utf8Slice(start: number, end: number): string;
}

// Bits of the first word.
const RESPONSE = 1;
const EXPECTS_RESPONSE = 1 << 1;
const HAS_STREAM = 1 << 2;

/** Where a message's action begins; its length stands before it. */
const ACTION_AT = 84;

/** Flags and two ids. */
const SEND_BYTES = 36;

/** Three numbers; the address follows. */
const OPENED_BYTES = 12;

const NO_FILES: readonly FileHead[] = [];
