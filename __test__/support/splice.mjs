// Splice under test: a strict client of the multiplexer, and its targets.
import { fragments, TEXT, Violation } from './frames.mjs';
import { open, ownServer, worker } from './server.mjs';

export const CONTROL = 0xffff;

/** A listener that may connect to targets on this machine. */
export const splice = (more) => ({
  address: '127.0.0.1:0',
  protocol: 'splice',
  allowedHostnames: '127.0.0.1 localhost',
  ...more,
});

/** The options of a server with such listeners. */
export const options = (listener, more) => ({
  workerPath: worker('text-only'),
  threads: 1,
  ioThreads: 1,
  bind: splice(listener),
  ...more,
});

/** A server for one test, and a client of it. */
export async function serve(t, listener, more, client) {
  const server = await ownServer(t, options(listener, more));
  return { server, mux: await Mux.open(t, server, client) };
}

/** A payload after its index. */
export function prefixed(index, payload = '') {
  const head = Buffer.alloc(2);
  head.writeUInt16BE(index);
  return Buffer.concat([head, Buffer.from(payload)]);
}

/** The error of a failed call. */
export class CallFailed extends Error {
  constructor({ code, message, path }) {
    super(`${code} ${message}`);
    Object.assign(this, { code, text: message, path });
  }
}

/** A client of the multiplexer. */
export class Mux {
  /** Unread events. */
  events = [];
  /** Everything that was received, in order: `{reply}`, `{event}` or `{index, kind, data}`. */
  log = [];
  #replies = new Map();
  #messages = new Map();
  #serial = 0;

  /** Options are those of `connect` in ws-client.mjs. */
  static async open(t, server, more = {}) {
    const mux = new Mux();
    mux.ws = await open(t, server, { ...more, onMessage: (message) => mux.#take(message) });
    return mux;
  }

  /** Sends a call without checking it. */
  control(document) {
    const text = typeof document === 'string' ? document : JSON.stringify(document);
    return this.ws.send(prefixed(CONTROL, text));
  }

  /** Calls a method; resolves with the reply. */
  async ask(method, params, id = ++this.#serial) {
    this.control({ id, type: 'method', method, params });
    return this.reply(id);
  }

  /** The reply with this id (as text, if it is not an exact number). */
  async reply(id) {
    const key = String(id);
    await this.ws.when(() => this.#replies.get(key)?.length > 0, `the reply to ${key}`);
    return this.#replies.get(key).shift();
  }

  /** Calls a method; resolves with the result. */
  async call(method, params) {
    const { error, result } = await this.ask(method, params);
    if (error) throw new CallFailed(error);
    return result;
  }

  /** Connects to a target; resolves with its index. */
  async connect(url, more) {
    return (await this.call('connect', { url, ...more })).index;
  }

  /** Sends text (string) or binary to a target. */
  send(index, data) {
    const payload = prefixed(index, data);
    return this.ws.frame({ opcode: typeof data === 'string' ? TEXT : 2, payload });
  }

  /** The next unread event: `{method, params}`. */
  async event() {
    await this.ws.when(() => this.events.length > 0, 'an event');
    return this.events.shift();
  }

  /** The next message of a target: `{kind, data}`, data as a Buffer. */
  async from(index, ms) {
    await this.ws.when(() => this.#messages.get(index)?.length > 0, `a message of target ${index}`, { ms });
    return this.#messages.get(index).shift();
  }

  async textFrom(index) {
    const { kind, data } = await this.from(index);
    if (kind !== 'text') throw new Error(`expected text, got ${data.length} bytes of binary`);
    return String(data);
  }

  /** Unread messages of a target. */
  waiting(index) {
    return this.#messages.get(index) ?? [];
  }

  #take({ kind, data }) {
    const bytes = Buffer.from(data);
    if (bytes.length < 2) throw new Violation(`a message of ${bytes.length} bytes has no index`);
    const index = bytes.readUInt16BE(0);
    if (index === CONTROL) {
      if (kind !== 'binary') throw new Violation('a control message is text');
      this.#control(bytes.toString('utf8', 2));
      return;
    }
    const message = { index, kind, data: bytes.subarray(2) };
    this.log.push(message);
    if (!this.#messages.has(index)) this.#messages.set(index, []);
    this.#messages.get(index).push(message);
  }

  #control(text) {
    const { id: _rounded, type, ...rest } = JSON.parse(text);
    const id = /^\{"id":(-?\d+)/.exec(text)[1];
    if (type === 'reply') {
      if ('result' in rest === 'error' in rest) throw new Violation(`neither result nor error: ${text}`);
      this.log.push({ reply: id, ...rest });
      if (!this.#replies.has(id)) this.#replies.set(id, []);
      this.#replies.get(id).push(rest);
    } else {
      if (id !== '0' || type !== 'method') throw new Violation(`no event: ${text}`);
      this.log.push({ event: rest.method, ...rest });
      this.events.push(rest);
    }
  }
}

/** A connected target: `{index, at}`, its index and its side of the connection. */
export async function reach(mux, target, more) {
  const [index, at] = await Promise.all([mux.connect(target.url(), more), target.asked()]);
  return { index, at };
}

export { Target } from './splice-target.mjs';
export { fragments };
