// permessage-deflate (RFC 7692) for the strict client: offers, the check of the answer, and the codecs of Node.js.
import zlib from 'node:zlib';

import { BINARY, CONTINUATION, frame, TEXT, Violation } from './frames.mjs';
import { inflateStrictly } from './strict-inflate.mjs';

const NAME = 'permessage-deflate';
const TAIL = Buffer.from([0, 0, 0xff, 0xff]);
const SYNC = { finishFlush: zlib.constants.Z_SYNC_FLUSH };

/** A message without context, as its frame has it. */
export function deflate(data, { level = 6, windowBits = 15, dictionary } = {}) {
  const options = { ...SYNC, level, windowBits, ...(dictionary?.length > 0 && { dictionary }) };
  const bytes = zlib.deflateRawSync(data, options);
  if (!bytes.subarray(-4).equals(TAIL)) throw new Error('zlib has written no tail');
  return bytes.subarray(0, -4);
}

/** The frame of a compressed message: RSV1 is set. */
export const deflated = (data, more) =>
  frame({ opcode: typeof data === 'string' ? TEXT : BINARY, payload: deflate(data), rsv: 4, ...more });

/** The frames of these bytes as a compressed message in fragments of `length`, with `between` after each. */
export function deflatedFragments(opcode, bytes, length, between = Buffer.alloc(0), more = {}) {
  const count = Math.max(1, Math.ceil(bytes.length / length));
  const frames = Array.from({ length: count }, (_, index) => {
    const payload = bytes.subarray(index * length, (index + 1) * length);
    const fin = index === count - 1;
    const kind = index === 0 ? { opcode, rsv: 4 } : { opcode: CONTINUATION };
    return frame({ ...kind, payload, fin, ...more });
  });
  return frames.flatMap((one) => [one, between]);
}

/** The text that later messages may refer to. */
class History {
  bytes = Buffer.alloc(0);
  #window;

  constructor(bits) {
    this.#window = 2 ** bits;
  }

  push(data) {
    this.bytes = Buffer.concat([this.bytes, data]).subarray(-this.#window);
  }
}

/** Whether the terms of an answer keep to this offer. */
function fitsOffer(terms, offer) {
  const params = offer.split(';').slice(1);
  const offered = new Map(params.map((param) => param.trim().split('=')));
  for (const side of ['server', 'client']) {
    const bits = `${side}_max_window_bits`;
    const most = offered.get(bits);
    const wrong =
      (side === 'client' && bits in terms && !offered.has(bits)) ||
      (most !== undefined && terms[bits] > Number(most)) ||
      (side === 'server' && offered.has(bits) && !(bits in terms));
    if (wrong) return false;
  }
  return !offered.has('server_no_context_takeover') || terms.server_no_context_takeover === true;
}

/** One connection's compression: pass it to `connect` as `compression`. */
export class Compression {
  /** The parameters of the answer; undefined: the server declined. */
  terms = undefined;
  /** How many compressed messages of the server were inflated. */
  inflated = 0;
  offer;
  #sent;
  #received;

  /** The parameters of the offer; of several offers, the one that is liked best first. */
  constructor(best = 'client_max_window_bits', ...others) {
    const offers = [best, ...others].map((params) => (params === '' ? NAME : `${NAME}; ${params}`));
    this.offer = offers.join(', ');
  }

  /** Checks the answer against the offer. Returns whether compression is on. */
  agree(answer) {
    if (answer === undefined) return false;
    const [name, ...params] = answer.split(';').map((part) => part.trim());
    if (name !== NAME) throw new Violation(`the extension ${name} was not offered`);
    const terms = {};
    for (const param of params) {
      const [key, value] = param.split('=');
      const flag = /^(?:server|client)_no_context_takeover$/.test(key);
      const bits = /^(?:server|client)_max_window_bits$/.test(key);
      const fits = flag ? value === undefined : bits && /^(?:[89]|1[0-5])$/.test(value ?? '');
      if (!fits || key in terms) throw new Violation(`the answer ${answer}`);
      terms[key] = flag ? true : Number(value);
    }
    if (!this.offer.split(',').some((offer) => fitsOffer(terms, offer))) {
      throw new Violation(`the answer ${answer} to ${this.offer}`);
    }
    this.terms = terms;
    this.#sent = new History(terms.client_max_window_bits ?? 15);
    this.#received = new History(terms.server_max_window_bits ?? 15);
    return true;
  }

  /** A message compressed by the terms. */
  deflate(data, { level } = {}) {
    const bytes = Buffer.from(data);
    const { client_no_context_takeover: alone, client_max_window_bits: windowBits = 15 } = this.terms;
    const payload = deflate(bytes, { level, windowBits, dictionary: alone ? undefined : this.#sent.bytes });
    this.#sent.push(bytes);
    return payload;
  }

  /** The frame of such a message. */
  frame(data, options) {
    return frame({
      opcode: typeof data === 'string' ? TEXT : BINARY,
      payload: this.deflate(data, options),
      rsv: 4,
    });
  }

  /** The text of a message of the server, whose matches must keep to the window. */
  inflate(payload) {
    const { server_no_context_takeover: alone, server_max_window_bits: windowBits = 15 } = this.terms;
    const dictionary = alone ? Buffer.alloc(0) : this.#received.bytes;
    const options = { ...SYNC, windowBits, ...(dictionary.length > 0 && { dictionary }) };
    const bytes = Buffer.concat([payload, TAIL]);
    const data = zlib.inflateRawSync(bytes, options);
    if (windowBits < 15 && !inflateStrictly(bytes, { dictionary, window: 2 ** windowBits }).data.equals(data)) {
      throw new Violation('two inflaters read different texts');
    }
    if (!alone) this.#received.push(data);
    this.inflated++;
    return data;
  }
}
