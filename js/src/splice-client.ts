/**
 * Many WebSockets over one connection to a splice listener, or to wsplice: for browsers, Node.js, Bun and Deno. It imports
 * only types, so that a browser can load its ES module directly. Over 400 lines because it has to be one file for that.
 *
 * @module millrace/splice-client
 */

import type {
  SpliceCloseEvent,
  SpliceErrorEvent,
  SpliceEvents,
  SpliceSocketEvents,
  TypedEventTarget,
} from './splice-client/client-events.js';
import type { ConnectOptions, OpenOptions, WebSocketClass, WebSocketLike } from './splice-client/client-options.js';

export type * from './splice-client/client-events.js';
export type * from './splice-client/client-options.js';

type TargetClass<Events> = new () => TypedEventTarget<Events>;

/** A connection to a multiplexer. */
export interface Splice extends TypedEventTarget<SpliceEvents> {
  /** The multiplexer's URL. */
  readonly url: string;
  /** The state of the connection to the multiplexer, as in `WebSocket`: 0 to 3. Also 0 between two connections. */
  readonly readyState: 0 | 1 | 2 | 3;
  /**
   * Opens a WebSocket to a target.
   *
   * @throws {DOMException} `SyntaxError` for a URL that has a fragment or is neither a WebSocket URL nor, for the
   *   gateway itself, a `millrace:` URL; also for subprotocols that are not tokens or that are repeated
   */
  open(url: string | URL, options?: OpenOptions): SpliceSocket;
  /**
   * Closes the connection to the multiplexer and all targets, which get the same code and reason. It does not connect
   * again.
   *
   * @throws {DOMException} as `close` of a socket
   */
  close(code?: number, reason?: string): void;
}

/** What a socket and its multiplexer share. */
interface Link {
  readonly url: URL;
  /** The parameters of the call `connect`. */
  readonly params: object;
  state: 0 | 1 | 2 | 3;
  protocol: string;
  index: number;
  /** Messages that arrived together with `open` and wait until code that awaited `open` can add listeners. */
  early: (() => void)[] | undefined;
  /** Bytes that were sent after the socket was closed. */
  late: number;
  send(data: unknown): void;
  close(code?: number, reason?: string): void;
  buffered(): number;
}

interface Problem {
  code?: number;
  message?: string;
}

interface Clean {
  code: number;
  reason: string;
}

/** A message of the control channel. */
interface Control {
  id: number;
  type: string;
  method: string;
  params: Problem & Clean & { index: number; clean?: boolean };
  result?: { index: number; protocol?: string };
  error?: Problem;
}

const CONNECTING = 0;
const OPEN = 1;
const CLOSING = 2;
const CLOSED = 3;

/** The longest pause that a multiplexer may ask for, whatever it says. */
const LONGEST_RETRY_MS = 600_000;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

let socketOf: (link: Link) => SpliceSocket;

/** A WebSocket to a target. {@link Splice.open} creates it. It is used like any `WebSocket`. */
export class SpliceSocket extends (EventTarget as TargetClass<SpliceSocketEvents>) {
  /** Not open yet, or being opened again. */
  declare static readonly CONNECTING: 0;
  /** Open: it can send. */
  declare static readonly OPEN: 1;
  /** Closed on this side; the target has not answered yet. */
  declare static readonly CLOSING: 2;
  /** Closed. */
  declare static readonly CLOSED: 3;
  /** Not open yet, or being opened again. */
  declare readonly CONNECTING: 0;
  /** Open: it can send. */
  declare readonly OPEN: 1;
  /** Closed on this side; the target has not answered yet. */
  declare readonly CLOSING: 2;
  /** Closed. */
  declare readonly CLOSED: 3;
  /** Called for the event `open`. */
  declare onopen: ((event: Event) => unknown) | null;
  /** Called for the event `message`. */
  declare onmessage: ((event: MessageEvent) => unknown) | null;
  /** Called for the event `error`. */
  declare onerror: ((event: SpliceErrorEvent) => unknown) | null;
  /** Called for the event `close`. */
  declare onclose: ((event: SpliceCloseEvent) => unknown) | null;
  /** Called for the event `reconnecting`. */
  declare onreconnecting: ((event: Event) => unknown) | null;

  readonly #link: Link;
  readonly #handlers: Record<string, ((event: Event) => unknown) | null> = {};
  #binaryType: 'blob' | 'arraybuffer' = 'blob';

  static {
    socketOf = (link) => new SpliceSocket(link);
    const { prototype } = SpliceSocket;
    const { defineProperty } = Object;
    ['CONNECTING', 'OPEN', 'CLOSING', 'CLOSED'].forEach((name, value) => {
      for (const place of [SpliceSocket, prototype]) defineProperty(place, name, { value, enumerable: true });
    });
    for (const type of ['open', 'message', 'error', 'close', 'reconnecting']) {
      defineProperty(prototype, `on${type}`, {
        configurable: true,
        enumerable: true,
        get(this: SpliceSocket) {
          return this.#handlers[type] ?? null;
        },
        set(this: SpliceSocket, handler) {
          const handlers = this.#handlers;
          if (!(type in handlers)) this.addEventListener(type, (event) => handlers[type]?.call(this, event));
          handlers[type] = typeof handler === 'function' ? handler : null;
        },
      });
    }
  }

  private constructor(link: Link) {
    super();
    this.#link = link;
  }

  /** The target's URL. */
  get url(): string {
    return this.#link.url.href;
  }

  /** The state, 0 to 3: {@link SpliceSocket.CONNECTING}, `OPEN`, `CLOSING`, `CLOSED`. */
  get readyState(): 0 | 1 | 2 | 3 {
    return this.#link.state;
  }

  /** The subprotocol that the target selected, or an empty string. */
  get protocol(): string {
    return this.#link.protocol;
  }

  /** Always empty: extensions apply to a single hop. */
  get extensions(): string {
    return '';
  }

  /** Bytes that were sent and have not left this side yet. */
  get bufferedAmount(): number {
    return this.#link.buffered();
  }

  /** The type of binary messages: `'blob'` or `'arraybuffer'`. */
  get binaryType(): 'blob' | 'arraybuffer' {
    return this.#binaryType;
  }

  /** Other values are ignored, as in `WebSocket`. */
  set binaryType(type: 'blob' | 'arraybuffer') {
    if (type === 'blob' || type === 'arraybuffer') this.#binaryType = type;
  }

  /**
   * Sends a message to the target.
   *
   * @throws {DOMException} `InvalidStateError` before the socket is open, and between `reconnecting` and the next
   *   `open`
   */
  send(data: string | ArrayBufferLike | Blob | ArrayBufferView): void {
    if (this.#link.state === CONNECTING) fail('InvalidStateError', 'Not open');
    this.#link.send(data);
  }

  /**
   * Closes the connection to the target.
   *
   * @throws {DOMException} `InvalidAccessError` for a code other than 1000 and 3000 to 4999, `SyntaxError` for a reason of more
   * than 123 bytes
   */
  close(code?: number, reason?: string): void {
    checkClose(code, reason);
    this.#link.close(code, reason);
  }
}

/**
 * Connects to a multiplexer. Sockets can be opened at once; they wait for the connection.
 *
 * @example
 * ```ts
 * const mux = connect('wss://gateway.example/splice', { reconnect: true });
 * const prices = mux.open('wss://prices.example/stream');
 * prices.onmessage = ({ data }) => console.log(data);
 * ```
 */
export function connect(url: string | URL, options: ConnectOptions = {}): Splice {
  const { reconnect, protocols = [] } = options;
  const { min = 500, max = 30_000 } = Object(reconnect) as { min?: number; max?: number };
  const Class = options.WebSocket ?? (globalThis as unknown as { WebSocket: WebSocketClass }).WebSocket;
  if (!Class) throw new TypeError('options.WebSocket must be given');
  /** All sockets that are not closed. */
  const sockets = new Map<Link, SpliceSocket>();
  const targets = new Map<number, Link>();
  const calls = new Map<number, (reply: Control) => void>();
  let lastCall = 0;
  let ws: WebSocketLike | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;
  let closed = false;
  /** Messages that may not have left yet: the position of their end since nothing was queued, and their bytes. */
  const waiting: [link: Link, end: number, bytes: number][] = [];

  class Multiplexer extends (EventTarget as TargetClass<SpliceEvents>) implements Splice {
    readonly url = `${url}`;

    get readyState(): 0 | 1 | 2 | 3 {
      return (ws?.readyState as 0 | 1 | 2 | 3) ?? (timer ? CONNECTING : CLOSED);
    }

    open(to: string | URL, { protocols, headers, timeout }: OpenOptions = {}): SpliceSocket {
      const url = target(to);
      const link: Link = {
        url,
        params: { url: url.href, headers, subprotocols: tokens(protocols), timeout, webSocket: true },
        state: CONNECTING,
        protocol: '',
        index: 0,
        early: undefined,
        late: 0,
        send: (data) => sendTo(link, data),
        close(code, reason) {
          if (link.state === OPEN) {
            call('terminate', { index: link.index, code, reason }, ({ error }) => error && end(link, error));
          } else if (!link.state) {
            setTimeout(end, 0, link, {});
          }
          if (link.state < CLOSING) link.state = CLOSING;
        },
        buffered: () => forgetSent().reduce((sum, [to, , bytes]) => (to === link ? sum + bytes : sum), link.late),
      };
      const socket = socketOf(link);
      sockets.set(link, socket);
      if (mux.readyState === OPEN) request(link);
      if (!ws && !timer) setTimeout(end, 0, link, {});
      return socket;
    }

    close(code?: number, reason?: string): void {
      checkClose(code, reason);
      closed = true;
      clearTimeout(timer);
      timer = undefined;
      for (const link of sockets.keys()) {
        if (!link.state) setTimeout(end, 0, link, {});
        link.state = CLOSING;
      }
      ws?.close(code, reason);
    }
  }

  const mux = new Multiplexer();
  dial();
  return mux;

  function dial(): void {
    timer = undefined;
    const on = (type: 'open' | 'message' | 'error' | 'close', listener: (event: never) => void) =>
      ws?.addEventListener(type, listener as (event: unknown) => void);
    ws = new Class(mux.url, protocols);
    ws.binaryType = 'arraybuffer';
    on('open', () => {
      failures = 0;
      for (const link of sockets.keys()) if (!link.state) request(link);
      mux.dispatchEvent(new Event('open'));
    });
    on('message', receive);
    on('error', () => mux.dispatchEvent(new Event('error')));
    on('close', lost);
  }

  function lost({ code, reason, wasClean }: SpliceCloseEvent): void {
    const again = reconnect && !closed;
    ws = undefined;
    calls.clear();
    targets.clear();
    waiting.length = 0;
    const asked = /^retry=(\d{1,9})$/.exec(reason)?.[1];
    const pause = () => Math.min(max, min * 2 ** failures++) * (1 - Math.random() / 2);
    if (again) timer = setTimeout(dial, asked ? Math.min(+asked, LONGEST_RETRY_MS) : pause());
    for (const [link, socket] of [...sockets]) {
      deliver(link, () => {
        if (again && link.state === OPEN) {
          link.state = CONNECTING;
          socket.dispatchEvent(new Event('reconnecting'));
        } else if (link.state) {
          end(link, undefined, closed && wasClean ? { code, reason } : undefined);
        } else if (!again) {
          end(link, {});
        }
      });
    }
    mux.dispatchEvent(closeEvent(code, reason, wasClean));
  }

  function receive({ data }: { data: string | ArrayBuffer }): void {
    if (typeof data === 'string') {
      if (data.length < 2) return;
      // the two characters are an index; both are below 0x80, because the client asked for such indices
      receiveFor((data.charCodeAt(0) << 8) | data.charCodeAt(1), () => data.slice(2));
    } else if (data.byteLength > 1) {
      const index = new DataView(data).getUint16(0);
      const bytes = new Uint8Array(data, 2);
      if (index === 0xffff) control(decoder.decode(bytes));
      else receiveFor(index, (type) => (type === 'blob' ? new Blob([bytes]) : data.slice(2)));
    }
  }

  function receiveFor(index: number, read: (type: string) => unknown): void {
    const link = targets.get(index);
    const socket = link && sockets.get(link);
    if (!socket) return;
    deliver(link, () => {
      if (link.state !== OPEN) return;
      const { origin } = link.url;
      socket.dispatchEvent(new MessageEvent('message', { data: read(socket.binaryType), origin }));
    });
  }

  function control(text: string): void {
    let message: Control;
    try {
      message = Object(JSON.parse(text));
    } catch {
      return; // there is no listener left
    }
    const { id, type, method } = message;
    const params: Control['params'] = Object(message.params);
    if (type === 'reply') {
      calls.get(id)?.(message);
      calls.delete(id);
    } else if (method === 'warn') {
      mux.dispatchEvent(problemEvent(method, params));
    } else if (/^onSocket(Disconnect|Closed)$/.test(method)) {
      const link = targets.get(params.index);
      if (link) deliver(link, () => end(link, undefined, params.clean === false ? undefined : params));
    }
  }

  function call(method: string, params: object, done: (reply: Control) => void = () => {}): void {
    calls.set(++lastCall, done);
    const text = JSON.stringify({ id: lastCall, type: 'method', method, params });
    send(encoder.encode(`..${text}`).fill(0xff, 0, 2));
  }

  function request(link: Link): void {
    call('connect', link.params, ({ result, error }) => {
      if (!result) return end(link, error);
      const { index, protocol = '' } = result;
      if (link.state || index & 0x8080) {
        call('terminate', { index });
        if (!link.state) end(link, { message: 'No index for text' });
        return;
      }
      const early: (() => void)[] = [];
      Object.assign(link, { state: OPEN, index, protocol, early });
      targets.set(index, link);
      sockets.get(link)?.dispatchEvent(new Event('open'));
      setTimeout(() => {
        link.early = undefined;
        for (const one of early) one();
      });
    });
  }

  function send(data: unknown): void {
    if (mux.readyState === OPEN) ws?.send(data as never);
  }

  function sendTo(link: Link, data: unknown): void {
    const { index } = link;
    const prefix = [index >> 8, index & 255];
    const { buffer = data, byteOffset, byteLength } = Object(data) as Uint8Array;
    let message: string | Uint8Array | Blob;
    if (data instanceof Blob) {
      message = new Blob([new Uint8Array(prefix), data]);
    } else if (byteLength >= 0) {
      message = new Uint8Array(byteLength + 2);
      message.set(prefix);
      message.set(new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength), 2);
    } else {
      message = String.fromCharCode(...prefix) + data;
    }
    if (link.state === OPEN) send(message);
    if (link.state === OPEN && !ws?.bufferedAmount) {
      waiting.length = 0;
      return;
    }
    const size =
      message instanceof Blob
        ? message.size
        : typeof message === 'string'
          ? encoder.encode(message).length
          : message.length;
    if (link.state === OPEN) {
      forgetSent();
      waiting.push([link, (waiting.at(-1)?.[1] ?? 0) + size, size - 2]);
    } else {
      link.late += size - 2;
    }
  }

  function forgetSent() {
    const sent = (waiting.at(-1)?.[1] ?? 0) - (ws?.bufferedAmount ?? 0);
    while (waiting[0] && waiting[0][1] <= sent) waiting.shift();
    return waiting;
  }

  /** Ends a socket. With a code, the end is clean; with a problem, it is a failure. */
  function end(link: Link, problem?: Problem, clean?: Clean): void {
    const socket = sockets.get(link);
    if (!socket) return;
    sockets.delete(link);
    if (targets.get(link.index) === link) targets.delete(link.index);
    link.state = CLOSED;
    if (problem) socket.dispatchEvent(problemEvent('error', problem));
    socket.dispatchEvent(closeEvent(clean?.code ?? 1006, clean?.reason ?? '', !!clean));
  }
}

/** Delivers an event at once, or after those that wait. */
function deliver(link: Link, what: () => void): void {
  if (link.early) link.early.push(what);
  else what();
}

function problemEvent(type: string, { code, message }: Problem): Event {
  return Object.assign(new Event(type), { code, message });
}

function closeEvent(code: number, reason: string, wasClean: boolean): Event {
  // Node.js has `CloseEvent` from version 23 on
  const { CloseEvent = Event } = globalThis as unknown as { CloseEvent: new (type: string, init: object) => Event };
  const init = { code, reason, wasClean };
  const event = new CloseEvent('close', init);
  return 'code' in event ? event : Object.assign(event, init);
}

function target(url: string | URL): URL {
  try {
    const parsed = new URL(url);
    if (/^(wss?|millrace):[^#]+$/.test(parsed.href)) return parsed;
  } catch {
    // reported below
  }
  return fail('SyntaxError', `Invalid URL: ${url}`);
}

function tokens(protocols: string | string[] = []): string[] {
  const all = [protocols].flat();
  const are = all.every((one) => /^[!#$%&'*+.^`|~\w-]+$/.test(one)) && new Set(all).size === all.length;
  return are ? all : fail('SyntaxError', 'Invalid subprotocols');
}

function checkClose(code = 1000, reason = ''): void {
  if (code !== 1000 && !(code >= 3000 && code < 5000)) fail('InvalidAccessError', `Invalid code: ${code}`);
  if (encoder.encode(reason).length > 123) fail('SyntaxError', 'Reason too long');
}

function fail(name: string, message: string): never {
  throw new DOMException(message, name);
}
