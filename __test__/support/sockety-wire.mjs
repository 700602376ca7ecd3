// The wire format of Sockety for clients of tests: written from the specification, independent of the product's codec.
import { randomUUID } from 'node:crypto';

const uint = (value, bytes) => {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntLE(value, 0, bytes);
  return buffer;
};

/** A first byte with a width code at `shift`, then the number in the smallest sufficient one of `widths`. */
function sized(value, widths) {
  const code = widths.findIndex((width) => value < 2 ** (8 * width));
  return { code, bytes: uint(value, widths[code]) };
}

const SIZES = [1, 2, 3, 4];
const idBytes = (id) => Buffer.from(id.replaceAll('-', ''), 'hex');
const textOf = (bytes) => bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

/** A packet with its size first. */
function packet(type, low, content) {
  const { code, bytes } = sized(content.length, SIZES);
  return Buffer.concat([Buffer.of((type << 4) | (code << 2) | low), bytes, content]);
}

/** A message (or, with `parent`, a response) with its data; files and a stream follow in separate packets. */
export function message({
  action = '',
  parent,
  id = randomUUID(),
  expects = false,
  stream = false,
  data,
  dataSize,
  files = [],
}) {
  const length = dataSize ?? data?.length ?? 0;
  const size = length === 0 ? { code: 0, bytes: Buffer.alloc(0) } : sized(length, [0, 1, 2, 6]);
  const name = Buffer.from(action);
  const wide = parent === undefined && name.length > 255;
  const total = files.reduce((sum, file) => sum + file.size, 0);
  const totalSize = sized(total, [2, 3, 4, 6]);
  const flags = (size.code << 6) | (files.length > 0 ? (1 << 4) | (totalSize.code << 2) : 0) | (wide ? 2 : 0);
  const parts = [Buffer.of(flags)];
  if (parent !== undefined) parts.push(idBytes(parent));
  parts.push(idBytes(id));
  if (parent === undefined) parts.push(uint(name.length, wide ? 2 : 1), name);
  parts.push(size.bytes);
  if (files.length > 0) {
    parts.push(uint(files.length, 1), totalSize.bytes);
    for (const file of files) {
      const fileSize = sized(file.size, [1, 2, 3, 6]);
      const fileName = Buffer.from(file.name);
      parts.push(Buffer.of(fileSize.code << 2), fileSize.bytes, uint(fileName.length, 1), fileName);
    }
  }
  const head = packet(parent === undefined ? 2 : 5, (stream ? 2 : 0) | (expects ? 1 : 0), Buffer.concat(parts));
  return data === undefined || data.length === 0 ? head : Buffer.concat([head, dataPacket(data)]);
}

export const dataPacket = (bytes) => packet(14, 0, Buffer.from(bytes));
export const streamPacket = (bytes) => packet(7, 0, Buffer.from(bytes));
export const STREAM_END = Buffer.of(0x80);
export const ABORT = Buffer.of(0x90);
export const GO_AWAY = Buffer.of(0xb0);
export const fileEnd = (index) => (index === 0 ? Buffer.of(0xd0) : Buffer.of(0xd1, index));
export const channel = (number) => Buffer.of(0x10 | (number >> 8), number & 0xff);
export const fastReply = (id, code) => Buffer.concat([Buffer.of(0x40 | (code >> 8), code & 0xff), idBytes(id)]);

/** A piece of a file. */
export function filePacket(index, bytes) {
  const { code, bytes: size } = sized(bytes.length, SIZES);
  const place = index === 0 ? Buffer.alloc(0) : uint(index, 1);
  return Buffer.concat([Buffer.of(0xc0 | (code << 2) | (index === 0 ? 0 : 1)), size, place, Buffer.from(bytes)]);
}

/**
 * Reads packets, in a generator that yields the number of bytes that it needs next. Calls `on` with each packet:
 * `{ type, channel, … }`.
 */
export function* packets(on) {
  const number = function* (width) {
    return width === 0 ? 0 : (yield width).readUIntLE(0, width);
  };
  const head = (yield 1)[0];
  if (head >> 2 !== 0x38) throw new Error(`a header: ${head}`);
  on({ type: 'header', channels: (head & 3) === 3 ? 4096 : yield* number(head & 3) });
  let current = 0;
  for (;;) {
    const first = (yield 1)[0];
    const low = first & 15;
    const sizeWidth = SIZES[low >> 2];
    switch (first >> 4) {
      case 0:
        current = low;
        break;
      case 1:
        current = (low << 8) | (yield 1)[0];
        break;
      case 2:
      case 5: {
        const body = yield yield* number(sizeWidth);
        on({ type: 'message', channel: current, ...read(body, first >> 4 === 5, low) });
        break;
      }
      case 3:
      case 4: {
        const code = first >> 4 === 3 ? low : (low << 8) | (yield 1)[0];
        on({ type: 'fastReply', code, id: textOf(yield 16) });
        break;
      }
      case 7:
      case 14: {
        const bytes = yield yield* number(sizeWidth);
        on({ type: first >> 4 === 7 ? 'stream' : 'data', channel: current, bytes });
        break;
      }
      case 8:
        on({ type: 'streamEnd', channel: current });
        break;
      case 9:
        on({ type: 'abort', channel: current });
        break;
      case 10:
        on({ type: 'heartbeat' });
        break;
      case 11:
        on({ type: 'goAway' });
        break;
      case 12: {
        const size = yield* number(sizeWidth);
        const index = yield* number(low & 3);
        on({ type: 'file', channel: current, index, bytes: yield size });
        break;
      }
      case 13:
        on({ type: 'fileEnd', channel: current, index: yield* number(low & 3) });
        break;
      default:
        throw new Error(`packet ${first}`);
    }
  }
}

/** The fields of a body. */
function read(body, isResponse, low) {
  let at = 0;
  const take = (count) => {
    at += count;
    return body.subarray(at - count, at);
  };
  const number = (width) => (width === 0 ? 0 : take(width).readUIntLE(0, width));
  const flags = number(1);
  const told = { stream: (low & 2) !== 0, expects: (low & 1) !== 0 };
  if (isResponse) told.parent = textOf(take(16));
  told.id = textOf(take(16));
  if (!isResponse) told.action = take(number(flags & 2 ? 2 : 1)).toString();
  told.dataSize = number([0, 1, 2, 6][flags >> 6]);
  const countWidth = (flags >> 4) & 3;
  told.files = [];
  if (countWidth > 0) {
    const count = number(countWidth);
    told.totalFilesSize = number([2, 3, 4, 6][(flags >> 2) & 3]);
    while (told.files.length < count) {
      const head = number(1);
      const size = number([1, 2, 3, 6][(head >> 2) & 3]);
      told.files.push({ size, name: take(number(head & 2 ? 2 : 1)).toString() });
    }
  }
  return told;
}
