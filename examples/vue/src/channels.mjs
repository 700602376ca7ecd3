// @ts-check
/**
 * The server's channels over one WebSocket. It is opened by the first subscription, reopened when it is lost, and
 * closed when there has been no subscription for a second.
 *
 * @typedef {{ channel: string, id: string, data: any }} Message
 * @typedef {'closed' | 'connecting' | 'open' | 'waiting'} Status  waiting: it was lost, and is tried again after a while
 */
export class Channels {
  /** @type {Map<string, Set<(message: Message) => void>>} */
  #listeners = new Map();
  /** @type {Set<() => void>} */
  #watchers = new Set();
  /** @type {Status} */
  #status = 'closed';
  /** @type {WebSocket | undefined} */
  #socket;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #failures = 0;
  #url;

  /** @param {string} url */
  constructor(url) {
    this.#url = url;
    // The network is back: do not wait any longer.
    addEventListener('online', () => {
      if (this.#status === 'waiting') this.#connect();
    });
  }

  get status() {
    return this.#status;
  }

  /**
   * @param {() => void} watcher called when `status` has changed
   * @returns {() => void} ends it
   */
  onStatus(watcher) {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /**
   * @param {string} channel
   * @param {(message: Message) => void} listener
   * @returns {() => void} ends it
   */
  subscribe(channel, listener) {
    const listeners = this.#listeners.get(channel) ?? new Set();
    listeners.add(listener);
    // The page has one subscription to a channel on the server, however many listeners there are.
    if (listeners.size === 1) {
      this.#listeners.set(channel, listeners);
      this.#tell({ type: 'subscribe', channel });
    }
    if (this.#status === 'closed') this.#connect();
    return () => {
      if (!listeners.delete(listener) || listeners.size > 0) return;
      this.#listeners.delete(channel);
      this.#tell({ type: 'unsubscribe', channel });
      // Not at once: the next page, or the same one, often subscribes a moment later.
      setTimeout(() => this.#closeUnused(), UNUSED_MS);
    };
  }

  /**
   * @param {string} channel
   * @param {unknown} data
   * @returns {boolean} false: there is no connection, nothing was sent
   */
  publish(channel, data) {
    return this.#tell({ type: 'publish', channel, data });
  }

  #connect() {
    clearTimeout(this.#timer);
    this.#become('connecting');
    const socket = new WebSocket(this.#url);
    this.#socket = socket;
    let openedAt = Number.POSITIVE_INFINITY;
    socket.onopen = () => {
      openedAt = performance.now();
      for (const channel of this.#listeners.keys()) this.#tell({ type: 'subscribe', channel });
      this.#become('open');
    };
    socket.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      for (const listener of this.#listeners.get(message.channel) ?? []) listener(message);
    };
    // An error is always followed by a close.
    socket.onclose = ({ reason }) => {
      if (socket !== this.#socket) return;
      this.#failures = performance.now() - openedAt > STABLE_MS ? 0 : this.#failures + 1;
      this.#wait(reason);
    };
  }

  /**
   * Each wait is up to twice as long as the last, and at random: all pages lost their connections at the same moment. A
   * server that stops says itself how long to wait.
   *
   * @param {string} reason
   */
  #wait(reason) {
    const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#failures);
    const [, asked] = /^retry=(\d{1,9})$/.exec(reason) ?? [];
    this.#timer = setTimeout(() => this.#connect(), Number(asked ?? longest * (0.5 + Math.random() / 2)));
    this.#become('waiting');
  }

  #closeUnused() {
    if (this.#listeners.size > 0 || this.#status === 'closed') return;
    clearTimeout(this.#timer);
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.close();
    this.#become('closed');
  }

  /** @param {object} request */
  #tell(request) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(request));
    return true;
  }

  /** @param {Status} status */
  #become(status) {
    this.#status = status;
    for (const watcher of this.#watchers) watcher();
  }
}

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 30_000;
/** A connection that lasts this long counts as working: the next wait is short again. */
const STABLE_MS = 5000;
const UNUSED_MS = 1000;

/** The page, and with it the socket, comes from the server or from Vite, which hands the socket on. */
export const channels = new Channels(`${location.origin.replace(/^http/, 'ws')}/channels`);
