// @ts-check
/**
 * A WebSocket that reconnects: after a loss it tries again, waiting up to twice as long each time, for a random time,
 * so that a thousand pages do not reconnect to a restarted server at the same moment. A server that stops says itself
 * how long to wait, by the reason `retry=<ms>`. It has nothing to do with the chat.
 *
 * @typedef {{ name: 'connecting' | 'open' | 'waiting', retryAt?: number }} State
 */
export class Connection {
  /** @type {WebSocket | undefined} */
  #socket;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #failures = 0;
  #url;
  #on;

  /**
   * @param {string} url
   * @param {{ open(): void, message(value: any): void, state(state: State): void }} on
   */
  constructor(url, on) {
    this.#url = url;
    this.#on = on;
    // The network or the user is back: do not wait any longer.
    addEventListener('online', () => this.retry());
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) this.retry();
    });
  }

  connect() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#on.state({ name: 'connecting' });
    const socket = new WebSocket(this.#url);
    this.#socket = socket;
    const tooLong = setTimeout(() => socket.close(), CONNECT_TIMEOUT);
    socket.onopen = () => {
      clearTimeout(tooLong);
      this.#on.state({ name: 'open' });
      this.#on.open();
    };
    socket.onmessage = ({ data }) => this.#on.message(JSON.parse(data));
    // An error is always followed by a close.
    socket.onclose = ({ reason }) => {
      clearTimeout(tooLong);
      this.#wait(reason);
    };
  }

  /** Tries at once, if it is waiting. */
  retry() {
    if (this.#timer !== undefined) this.connect();
  }

  /** The application works again: the next loss starts with the shortest wait. */
  settled() {
    this.#failures = 0;
  }

  /**
   * @param {object} value
   * @returns {boolean} false: not connected, nothing was sent
   */
  send(value) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(value));
    return true;
  }

  /** @param {string} reason */
  #wait(reason) {
    const longest = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** this.#failures);
    const [, asked] = /^retry=(\d{1,9})$/.exec(reason) ?? [];
    const wait = Number(asked ?? longest * (0.5 + Math.random() / 2));
    this.#failures += 1;
    this.#timer = setTimeout(() => this.connect(), wait);
    this.#on.state({ name: 'waiting', retryAt: Date.now() + wait });
  }
}

// Milliseconds.
const FIRST_WAIT = 500;
const LONGEST_WAIT = 20_000;
const CONNECT_TIMEOUT = 10_000;
