// Batches of event records made here, and a dispatcher over a native side that only records calls.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { Dispatcher } = require('../../js/dist/worker/dispatch.js');
const { Gateway } = require('../../js/dist/gateway/gateway.js');

const OPEN = 1;
export const TEXT = 2;
export const BINARY = 3;
const CLOSE = 4;
export const DRAIN = 5;
const EVENT = 9;
export const ASCII = 16;
export const SIDECAR = 32;

/** A batch of records, as the native side writes them. */
export class Batch {
  #parts = [];

  record(kind, slot, payload, flags = 0) {
    const words = Buffer.alloc(8);
    words.writeUInt32LE((kind | flags | (payload.length << 8)) >>> 0, 0);
    words.writeUInt32LE(slot, 4);
    this.#parts.push(words, payload, Buffer.alloc((4 - (payload.length % 4)) % 4));
    return this;
  }

  open(slot, id, { awaited = true, ip = '1.2.3.4', target = '/', headers = [] } = {}) {
    const texts = [ip, target, headers.map((part) => `${part}\0`).join('')].map((text) => Buffer.from(text, 'latin1'));
    const lengths = texts.map((text) => text.length);
    // no certificate: neither its subject nor its bytes
    const words = [id % 2 ** 32, Math.floor(id / 2 ** 32), awaited ? 1 : 0, ...lengths, 0, 0];
    return this.record(OPEN, slot, Buffer.concat([uint32(words), ...texts]));
  }

  text(slot, text) {
    const payload = Buffer.from(text);
    return this.record(TEXT, slot, payload, payload.length === text.length ? ASCII : 0);
  }

  binary(slot, bytes) {
    return this.record(BINARY, slot, Buffer.from(bytes));
  }

  close(slot, id, { code = 1000, token, reason = '' } = {}) {
    const tail = [token ?? Buffer.alloc(0), Buffer.from(reason)];
    const lengths = [token === undefined ? 0xffffffff : token.length, tail[1].length];
    const words = [id % 2 ** 32, Math.floor(id / 2 ** 32), code, ...lengths];
    return this.record(CLOSE, slot, Buffer.concat([uint32(words), ...tail]));
  }

  /** A protocol's event; its payload is in the record, or outside of it as the sidecar with this index. */
  event(slot, number, { fields = [], payload = [], beside } = {}) {
    const given = Buffer.from(fields);
    const padding = Buffer.alloc((4 - (given.length % 4)) % 4);
    const tail = beside === undefined ? Buffer.from(payload) : uint32([beside, payload.length]);
    const record = Buffer.concat([uint32([number, given.length]), given, padding, tail]);
    return this.record(EVENT, slot, record, beside === undefined ? 0 : SIDECAR);
  }

  memory() {
    const bytes = Buffer.concat(this.#parts);
    return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  }
}

export function uint32(values) {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32LE(value, index * 4);
  return bytes;
}

/**
 * A dispatcher over a native side that records calls. Its clock stops while it drains, unless `timed`: a drain that
 * takes long stops early, and a busy machine may suspend the process during a drain.
 */
export function setUp(module, { handlerTimeoutMs = 5000, timed = false } = {}) {
  const notes = [];
  const errors = [];
  const tokens = new Map();
  const tokenWords = new ArrayBuffer(4096);
  let drain;
  let current;
  const note =
    (name, result) =>
    (...given) => {
      notes.push([name, ...given]);
      return result;
    };
  const worker = {
    id: 1,
    tokenWords,
    exchange: new ArrayBuffer(65_536),
    replyList: new ArrayBuffer(16 * 4),
    activate: note('activate'),
    retire: note('retire'),
    hold: note('hold'),
    release: note('release'),
    claimClose: () => true,
    // the flag for a token that is a value comes after the others
    acceptOpen: (...given) => note('accept')(...(given.at(-1) === false ? given.slice(0, -1) : given)),
    acceptWith: note('acceptWith'),
    refuseOpen: note('refuse'),
    rebatch: () => current.slice(0),
    drainNow: () => false,
    isIdle: () => true,
    requests: () => 0,
    observe: () => {},
    wake: () => {},
  };
  const gateway = {
    addWorker: (flags, given) => {
      notes.push(['addWorker', flags]);
      drain = given;
      return worker;
    },
    close: note('close', true),
    token: (id) => tokens.get(id),
    send: note('send', 1),
    sendLong: note('sendLong', 1),
    subscribe: note('subscribe', []),
    reply: (count, texts) => {
      const list = new Float64Array(worker.replyList);
      let at = 0;
      for (let index = 0; index < count; index++) {
        notes.push(['reply', list[index * 2], texts.slice(at, at + list[index * 2 + 1])]);
        at += list[index * 2 + 1];
      }
    },
  };
  const run = (...given) => (timed ? drain(...given) : atOneTime(() => drain(...given)));
  const api = Gateway.ofWorker(gateway, 1);
  const dispatcher = new Dispatcher(gateway, api, module, handlerTimeoutMs, (error) => errors.push(error));
  notes.length = 0;
  return {
    dispatcher,
    worker,
    api,
    notes,
    errors,
    setToken: (id, token) => {
      tokens.set(id, Buffer.from(token));
      new Uint32Array(tokenWords)[id % 1024] += 1;
    },
    drain: (batch, sidecars = null) => {
      const memory = batch.memory();
      current = memory.slice(0);
      return run(memory, memory.byteLength, sidecars);
    },
    exchange: (batch, sidecars = null) => {
      const memory = batch.memory();
      new Uint8Array(worker.exchange).set(new Uint8Array(memory));
      return run(true, memory.byteLength, sidecars);
    },
    resume: () => run(null, 0, null),
  };
}

function atOneTime(call) {
  const now = performance.now();
  performance.now = () => now;
  try {
    return call();
  } finally {
    delete performance.now;
  }
}

/** Resolves after the tasks that are due now. */
export const later = () => new Promise((resolve) => setImmediate(resolve));

/** A promise that the test settles. */
export function deferred() {
  const parts = {};
  parts.promise = new Promise((resolve, reject) => Object.assign(parts, { resolve, reject }));
  return parts;
}
