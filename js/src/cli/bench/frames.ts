/** WebSocket frames as a client needs them (RFC 6455 5.2). Bytes only: knows no connection. */

import { randomBytes } from 'node:crypto';

export const TEXT = 1;
export const CLOSE = 8;
export const PING = 9;
export const PONG = 10;

/** A whole message from the server, or a control frame. */
export interface ServerMessage {
  opcode: number;
  payload: Buffer;
}

/** One masked frame. It may be sent many times: the mask protects proxies from a stranger's bytes, and these are ours. */
export function clientFrame(opcode: number, payload: Buffer): Buffer {
  const mask = randomBytes(4);
  const masked = payload.map((byte, at) => byte ^ (mask[at & 3] as number));
  return Buffer.concat([clientHead(opcode, payload.length), mask, masked]);
}

function clientHead(opcode: number, length: number): Buffer {
  const first = 0x80 | opcode;
  if (length < 126) return Buffer.from([first, 0x80 | length]);
  const long = length > 0xffff;
  const head = Buffer.alloc(long ? 10 : 4);
  head[0] = first;
  head[1] = 0x80 | (long ? 127 : 126);
  if (long) head.writeBigUInt64BE(BigInt(length), 2);
  else head.writeUInt16BE(length, 2);
  return head;
}

/** Takes a server's bytes as they come and gives back whole messages. */
export class ServerFrames {
  #rest: Buffer = Buffer.alloc(0);
  #parts: Buffer[] = [];
  #kind = 0;

  /**
   * Calls `take` for each message that is complete now.
   *
   * @throws {Error} at what is no frame of a server, or a message of more than 16 MiB
   */
  read(bytes: Buffer, take: (message: ServerMessage) => void): void {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    for (;;) {
      const frame = readFrame(this.#rest);
      if (frame === undefined) return;
      this.#rest = this.#rest.subarray(frame.end);
      const { opcode, final, payload } = frame;
      if (opcode >= CLOSE) {
        take({ opcode, payload });
        continue;
      }
      if (opcode !== 0) this.#kind = opcode;
      if (final && this.#parts.length === 0) {
        take({ opcode: this.#kind, payload });
        continue;
      }
      this.#parts.push(payload);
      if (this.#parts.reduce((sum, part) => sum + part.length, 0) > LONGEST) throw tooLong();
      if (!final) continue;
      const whole = Buffer.concat(this.#parts);
      this.#parts = [];
      take({ opcode: this.#kind, payload: whole });
    }
  }
}

interface Frame {
  opcode: number;
  final: boolean;
  payload: Buffer;
  /** Where the next one begins. */
  end: number;
}

function readFrame(bytes: Buffer): Frame | undefined {
  if (bytes.length < 2) return undefined;
  const [first, second] = bytes as unknown as [number, number];
  if ((second & 0x80) !== 0 || (first & 0x70) !== 0) throw new Error('the server sent what is no WebSocket frame');
  let length = second & 0x7f;
  let at = 2;
  if (length === 126) {
    if (bytes.length < 4) return undefined;
    length = bytes.readUInt16BE(2);
    at = 4;
  } else if (length === 127) {
    if (bytes.length < 10) return undefined;
    length = Number(bytes.readBigUInt64BE(2));
    at = 10;
  }
  if (length > LONGEST) throw tooLong();
  if (bytes.length < at + length) return undefined;
  const end = at + length;
  return { opcode: first & 15, final: (first & 0x80) !== 0, payload: bytes.subarray(at, end), end };
}

function tooLong(): Error {
  return new Error('the server sent a message of more than 16 MiB');
}

const LONGEST = 16 * 1024 * 1024;
