// WebSocket frames as bytes: a builder that can make invalid frames, too, and a parser for a server's frames that
// rejects everything that RFC 6455 forbids.

export const CONTINUATION = 0;
export const TEXT = 1;
export const BINARY = 2;
export const CLOSE = 8;
export const PING = 9;
export const PONG = 10;

const EMPTY = Buffer.alloc(0);

/**
 * One client frame. `form` forces a length form (7, 16 or 64 bits), `announce` is a length other than that of the
 * payload, `mask` is the masking key (4 bytes), `masked: false` omits the key and its bit.
 */
export function frame({
  opcode = TEXT,
  payload = EMPTY,
  fin = true,
  rsv = 0,
  masked = true,
  mask = [0x12, 0x34, 0x56, 0x78],
  form,
  announce,
}) {
  const body = typeof payload === 'string' ? Buffer.from(payload) : payload;
  const length = BigInt(announce ?? body.length);
  const bits = form ?? (length < 126n ? 7 : length < 65536n ? 16 : 64);
  const head = [(fin ? 0x80 : 0) | (rsv << 4) | opcode];
  const maskBit = masked ? 0x80 : 0;
  if (bits === 7) {
    head.push(maskBit | Number(length));
  } else if (bits === 16) {
    head.push(maskBit | 126, Number(length >> 8n) & 0xff, Number(length & 0xffn));
  } else {
    head.push(maskBit | 127);
    for (let shift = 56n; shift >= 0n; shift -= 8n) head.push(Number((length >> shift) & 0xffn));
  }
  if (!masked) return Buffer.concat([Buffer.from(head), body]);
  const bytes = Buffer.allocUnsafe(head.length + 4 + body.length);
  bytes.set(head);
  bytes.set(mask, head.length);
  bytes.set(body, head.length + 4);
  applyMask(bytes.subarray(head.length + 4), mask);
  return bytes;
}

/** Masks in place, four bytes at a time once aligned. */
function applyMask(data, mask) {
  const start = Math.min((4 - (data.byteOffset & 3)) & 3, data.length);
  const words = (data.length - start) >> 2;
  const turned = new Uint32Array(Uint8Array.from([0, 1, 2, 3], (at) => mask[(at + start) & 3]).buffer)[0];
  const view = words > 0 ? new Uint32Array(data.buffer, data.byteOffset + start, words) : [];
  for (let index = 0; index < words; index++) view[index] ^= turned;
  for (let index = 0; index < start; index++) data[index] ^= mask[index & 3];
  for (let index = start + words * 4; index < data.length; index++) data[index] ^= mask[index & 3];
}

export const text = (payload, more) => frame({ opcode: TEXT, payload, ...more });
export const binary = (payload, more) => frame({ opcode: BINARY, payload, ...more });
export const ping = (payload = EMPTY, more) => frame({ opcode: PING, payload, ...more });
export const pong = (payload = EMPTY, more) => frame({ opcode: PONG, payload, ...more });
export const continuation = (payload, more) => frame({ opcode: CONTINUATION, payload, ...more });

/** A close frame's payload: code (omitted: empty payload) and reason. */
export function closePayload(code, reason = '') {
  if (code === undefined) return EMPTY;
  const head = Buffer.alloc(2);
  head.writeUInt16BE(code);
  return Buffer.concat([head, Buffer.from(reason)]);
}

export const close = (code, reason, more) => frame({ opcode: CLOSE, payload: closePayload(code, reason), ...more });

/** The frames of one message with the given payloads. */
export function fragments(opcode, payloads) {
  return payloads.map((payload, index) =>
    frame({ opcode: index === 0 ? opcode : CONTINUATION, payload, fin: index === payloads.length - 1 }),
  );
}

/** A server violated RFC 6455. */
export class Violation extends Error {}

/** Parses a server's bytes, in pieces of any size, into frames; with `masked` those of a client, unmasked. */
export class FrameParser {
  #chunks = [];
  #have = 0;
  #fragmented = false;
  #masked;
  /** Whether the first frame of a message may have RSV1, which compression needs. */
  compression = false;

  constructor({ masked = false } = {}) {
    this.#masked = masked;
  }

  /** Returns the frames completed by `chunk`; throws a Violation at the first forbidden bit. */
  push(chunk) {
    this.#chunks.push(chunk);
    this.#have += chunk.length;
    const frames = [];
    for (let found = this.#one(); found; found = this.#one()) frames.push(found);
    return frames;
  }

  get pendingBytes() {
    return this.#have;
  }

  #peek(count) {
    if (this.#have < count) return undefined;
    if (this.#chunks[0].length < count) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0];
  }

  #one() {
    let head = this.#peek(2);
    if (!head) return undefined;
    if (!(head[1] & 0x80) === this.#masked)
      throw new Violation(this.#masked ? 'client frame is not masked' : 'server frame is masked');
    const opcode = head[0] & 0xf;
    const compressed = (head[0] & 0x40) !== 0;
    const allowed = this.compression && (opcode === TEXT || opcode === BINARY);
    if (head[0] & 0x30 || (compressed && !allowed))
      throw new Violation(`frame has reserved bits (${(head[0] >> 4) & 7})`);
    let length = head[1] & 0x7f;
    let start = 2;
    if (length === 126) {
      head = this.#peek(4);
      if (!head) return undefined;
      length = head.readUInt16BE(2);
      start = 4;
      if (length < 126) throw new Violation('16-bit length form for a short frame');
    } else if (length === 127) {
      head = this.#peek(10);
      if (!head) return undefined;
      length = Number(head.readBigUInt64BE(2));
      start = 10;
      if (length < 65536) throw new Violation('64-bit length form for a short frame');
    }
    const fin = (head[0] & 0x80) !== 0;
    this.#judge(opcode, fin, length);
    if (this.#masked) start += 4;
    const all = this.#peek(start + length);
    if (!all) return undefined;
    const payload = all.subarray(start, start + length);
    this.#have -= start + length;
    if (all.length === start + length) this.#chunks.shift();
    else this.#chunks[0] = all.subarray(start + length);
    if (opcode < CLOSE) this.#fragmented = !fin;
    if (!this.#masked) return { opcode, fin, compressed, payload };
    const mask = all.subarray(start - 4, start);
    const plain = Buffer.from(payload);
    applyMask(plain, mask);
    return { opcode, fin, compressed, payload: plain, mask };
  }

  #judge(opcode, fin, length) {
    if (opcode > PONG || (opcode > BINARY && opcode < CLOSE)) throw new Violation(`reserved opcode ${opcode}`);
    if (opcode >= CLOSE && !fin) throw new Violation('fragmented control frame');
    if (opcode >= CLOSE && length > 125) throw new Violation(`control frame of ${length} bytes`);
    if (opcode === CONTINUATION && !this.#fragmented) throw new Violation('stray continuation');
    if ((opcode === TEXT || opcode === BINARY) && this.#fragmented)
      throw new Violation('data frame inside a fragmented message');
  }
}
