// @ts-check
/** Where a request's body ends: after a length, or after the last of its chunks. Takes bytes as they arrive and keeps the body. */
import { HttpError } from './http-error.mjs';

/** Longest body, in bytes. */
const BODY_BYTES = 1024 * 1024;
/** Longest line between chunks, with its extensions, and all trailers together. */
const LINE_BYTES = 4096;
const TRAILER_BYTES = 16 * 1024;

/**
 * @typedef {object} Body
 * @property {(bytes: Buffer) => number} take takes the bytes that belong to the body; returns their number
 * @property {() => boolean} isComplete
 * @property {() => Buffer} contents
 */

/**
 * @param {Record<string, string>} headers
 * @returns {Body}
 */
export function bodyOf(headers) {
  const coding = headers['transfer-encoding'];
  const length = readLength(headers['content-length']);
  // The coding overrides a length, and the connection is closed after the answer.
  if (coding === undefined) return new BodyOfLength(length);
  if (coding.toLowerCase() !== 'chunked') throw new HttpError(501, 'The only transfer coding is chunked.');
  return new ChunkedBody();
}

/** @param {string | undefined} text several equal lengths count as one */
function readLength(text) {
  if (text === undefined) return 0;
  const [length = '', ...others] = text.split(/[\t ]*,[\t ]*/);
  if (!/^[0-9]+$/.test(length)) throw new HttpError(400, 'Content-Length is no number.');
  if (others.some((other) => other !== length)) throw new HttpError(400, 'There are several values of Content-Length.');
  if (Number(length) > BODY_BYTES) throw tooLarge();
  return Number(length);
}

/** @implements {Body} */
class BodyOfLength {
  /** @param {number} length */
  constructor(length) {
    this.missing = length;
    /** @type {Buffer[]} */
    this.parts = [];
  }

  /** @param {Buffer} bytes */
  take(bytes) {
    const part = bytes.subarray(0, this.missing);
    if (part.length > 0) this.parts.push(part);
    this.missing -= part.length;
    return part.length;
  }

  isComplete() {
    return this.missing === 0;
  }

  contents() {
    return Buffer.concat(this.parts);
  }
}

/** @implements {Body} */
class ChunkedBody {
  constructor() {
    /** @type {'size' | 'data' | 'end of data' | 'trailers' | 'complete'} */
    this.expects = 'size';
    this.missing = 0;
    this.length = 0;
    this.trailerBytes = 0;
    /** @type {Buffer[]} */
    this.parts = [];
  }

  /** @param {Buffer} bytes */
  take(bytes) {
    let at = 0;
    while (this.expects !== 'complete') {
      const taken = this.expects === 'data' ? this.takeData(bytes.subarray(at)) : this.takeLine(bytes.subarray(at));
      if (taken === 0) break;
      at += taken;
    }
    return at;
  }

  /** @param {Buffer} bytes */
  takeData(bytes) {
    const part = bytes.subarray(0, this.missing);
    if (part.length > 0) this.parts.push(part);
    this.missing -= part.length;
    if (this.missing === 0) this.expects = 'end of data';
    return part.length;
  }

  /** @param {Buffer} bytes @returns {number} 0: the line is not complete */
  takeLine(bytes) {
    const line = lineOf(bytes, LINE_BYTES);
    if (line === undefined) return 0;
    if (this.expects === 'size') this.readSize(line);
    else if (this.expects === 'trailers') this.readTrailer(line);
    else if (line === '') this.expects = 'size';
    else throw new HttpError(400, 'A chunk is longer than its size says.');
    return line.length + 2;
  }

  /** @param {string} line */
  readSize(line) {
    // Extensions, after a semicolon, are ignored.
    const [, digits = ''] = /^([0-9A-Fa-f]+)(?:[\t ]*;.*)?$/.exec(line) ?? [];
    if (digits === '') throw new HttpError(400, "A chunk's size is no hexadecimal number.");
    this.missing = Number.parseInt(digits, 16);
    this.length += this.missing;
    if (this.length > BODY_BYTES) throw tooLarge();
    this.expects = this.missing === 0 ? 'trailers' : 'data';
  }

  /** @param {string} line */
  readTrailer(line) {
    this.trailerBytes += line.length + 2;
    if (this.trailerBytes > TRAILER_BYTES) throw new HttpError(431, 'The trailers are too long.');
    if (line === '') this.expects = 'complete';
    else if (!/^[^\s:]+:/.test(line)) throw new HttpError(400, 'A trailer is no header.');
  }

  isComplete() {
    return this.expects === 'complete';
  }

  contents() {
    return Buffer.concat(this.parts);
  }
}

/**
 * The first line, without its end, a character for each byte.
 * @param {Buffer} bytes
 * @param {number} most bytes of a line
 * @returns {string | undefined} undefined: its end is missing
 */
export function lineOf(bytes, most) {
  const end = bytes.indexOf(LF);
  if (end < 0 ? bytes.length > most : end > most) throw new HttpError(431, `A line has more than ${most} bytes.`);
  if (end < 0) return undefined;
  if (bytes[end - 1] !== CR) throw new HttpError(400, 'A line does not end with CR and LF.');
  return bytes.toString('latin1', 0, end - 1);
}

function tooLarge() {
  return new HttpError(413, `A body has at most ${BODY_BYTES} bytes.`);
}

const LF = 10;
const CR = 13;
