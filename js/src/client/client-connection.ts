/** The connection of a client: makes it, makes it again, and notices when it is dead. Knows no channels. */

import type { Status, StatusReason } from './client-interface.js';
import type { ClientOptions, SocketClass } from './client-settings.js';
import { streamLink } from './stream-link.js';
import { type Header, type Payload, toBase64Url } from './v1-message.js';
import { type Link, type LinkListener, webSocketLink } from './web-socket-link.js';

/** What happens with a connection. */
export interface ConnectionListener {
  /** It is open: the server has said `hi`. */
  opened(header: Header): void;
  message(header: Header, payload: Payload): void;
  /** It is lost or closed; `status` tells. `refused`: the server, or what it said, ended it for good. */
  lost(refused?: StatusReason): void;
  changed(status: Status, reason?: StatusReason): void;
}

/** Close codes: another attempt would end in the same way. */
const FINAL = /^(100[023789]|400[123])$/;

/** How long an attempt may take, the token included. */
const ATTEMPT_MS = 20_000;
/** Silence before a ping, unless the server asks for less, and after it. Together they are less than 40 seconds. */
const PING_MS = 25_000;
const PONG_MS = 14_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
/** The longest wait that a server can ask for. */
const LONGEST_RETRY_MS = 600_000;

const page = globalThis as {
  document?: EventTarget & { visibilityState: string };
  addEventListener?: EventTarget['addEventListener'];
  removeEventListener?: EventTarget['removeEventListener'];
  WebSocket?: SocketClass;
};

export class Connection {
  status: Status = 'connecting';
  readonly #url: string;
  readonly #options: ClientOptions;
  readonly #listener: ConnectionListener;
  #link: Link | undefined;
  /** Grows with each attempt and each end, so that nothing of an earlier one counts. */
  #attempt = 0;
  /** Attempts that failed, and connections that were of no use. */
  #failures = 0;
  /** The end of an attempt, the next look at a silent link, or the next attempt: only one of them is awaited. */
  #timer: ReturnType<typeof setTimeout> | undefined;
  #heardAt = 0;
  #pingMs = PING_MS;
  #pinged = false;
  /** Whether the attempt uses the fall-back. */
  #streams: string | false | undefined;
  /** Whether the server said when to come back. */
  #ordered = false;

  /** @throws {TypeError} for wrong options */
  constructor(url: string, options: ClientOptions, listener: ConnectionListener) {
    if (!/^(ws|http)s?:/.test(url)) throw new TypeError('url must be of WebSocket or HTTP');
    if (!(options.WebSocket ?? page.WebSocket)) throw new TypeError('options.WebSocket must be given');
    this.#url = url;
    this.#options = options;
    this.#listener = listener;
    page.addEventListener?.('online', this.#wake);
    page.document?.addEventListener('visibilitychange', this.#wake);
    this.#connect();
  }

  /** Only while it is open. */
  send(message: string | Uint8Array): void {
    this.#link?.send(message);
  }

  close(): void {
    if (this.status !== 'closed') this.#end({ code: 1000, reason: '' });
  }

  async #connect(): Promise<void> {
    const attempt = ++this.#attempt;
    const current = () => attempt === this.#attempt;
    const lost: LinkListener['lost'] = (code, reason) => {
      if (current()) this.#lost(code, reason);
    };
    this.#wait(ATTEMPT_MS, () => this.#lost(1006, 'no answer'));
    if (this.status !== 'connecting') {
      this.status = 'connecting';
      this.#listener.changed('connecting');
    }
    try {
      await 0; // `createClient` returns first
      // an error that it throws counts like a rejection
      const token = await this.#options.getToken?.();
      if (!current()) return;
      this.#link = this.#dial(token, {
        alive: () => {
          this.#heardAt = performance.now();
        },
        message: (header, payload) => {
          if (!current()) return;
          if (this.status === 'open') {
            // the next message of a stream may reach another node, so that it has to last
            if (header.t === 'ok' && !this.#streams) this.#failures = 0;
            this.#listener.message(header, payload);
          } else if (header.t === 'hi') this.#open(header);
        },
        lost,
      });
    } catch (error) {
      lost(1006, String(error));
    }
  }

  #dial(token: string | undefined, listener: LinkListener): Link {
    const { protocols = [], eventsPath = '/events', fetch = globalThis.fetch as never } = this.#options;
    if (this.#streams) {
      const url = new URL(eventsPath, this.#url.replace(/^ws/, 'http'));
      url.search = new URL(this.#url).search;
      url.searchParams.set('v', '1');
      return streamLink(fetch, url.href, token, listener);
    }
    const offered = ['millrace.v1', ...protocols];
    if (token !== undefined) offered.push(`token.${toBase64Url(token)}`);
    const Class = (this.#options.WebSocket ?? page.WebSocket) as SocketClass;
    return webSocketLink(Class, this.#url.replace(/^http/, 'ws'), offered, listener);
  }

  #open(header: Header): void {
    this.#pingMs = Math.min(header.ping || PING_MS, PING_MS);
    this.#watch();
    this.status = 'open';
    this.#listener.opened(header);
    this.#listener.changed('open');
  }

  /** Looks again when the link could have been silent for long enough. */
  #watch(): void {
    this.#pinged = false;
    const left = this.#heardAt + this.#pingMs - performance.now();
    if (left <= 0) return this.#ping();
    this.#wait(left, () => {
      this.#failures = 0;
      this.#watch();
    });
  }

  /** A timer may be late, in a page in the background by a minute. So the link is only dead when a ping was in vain. */
  #ping(): void {
    if (this.#pinged) return;
    this.#pinged = true;
    const at = performance.now();
    this.#wait(PONG_MS, () => {
      if (this.#heardAt >= at) this.#watch();
      else this.#lost(1006, 'no answer');
    });
    this.send('{"t":"ping"}');
  }

  #lost(code: number, reason: string): void {
    // only behind a WebSocket that could not be opened: a stream that was lost may be of no use
    this.#streams = this.status !== 'open' && !this.#streams && this.#options.fallback;
    const why = { code, reason };
    if (FINAL.test(code as never)) return this.#end(why, why);
    this.#drop('waiting');
    const asked = /^retry=(\d{1,9})$/.exec(reason)?.[1];
    this.#ordered = !!asked;
    // the server sets the pace
    if (asked) this.#failures = 0;
    const jitter = Math.random() * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#failures++);
    this.#wait(Math.min(Number(asked ?? 0) + jitter, LONGEST_RETRY_MS), () => this.#connect());
    this.#listener.lost();
    this.#listener.changed('waiting', why);
  }

  #end(why: StatusReason, refused?: StatusReason): void {
    page.removeEventListener?.('online', this.#wake);
    page.document?.removeEventListener('visibilitychange', this.#wake);
    this.#drop('closed');
    this.#listener.lost(refused);
    this.#listener.changed('closed', why);
  }

  /** Forgets the link. A dead one may take long to close, so nobody waits for it. */
  #drop(status: Status): void {
    const link = this.#link;
    this.status = status;
    this.#attempt++;
    this.#link = undefined;
    clearTimeout(this.#timer);
    link?.close();
  }

  /** The network is back, or the user. */
  #wake = ({ type }: { type: string }): void => {
    if (type !== 'online' && page.document?.visibilityState === 'hidden') return;
    if (this.status === 'open') this.#ping();
    else if (this.status === 'waiting' && !this.#ordered) this.#connect();
  };

  #wait(ms: number, then: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(then, ms);
  }
}
