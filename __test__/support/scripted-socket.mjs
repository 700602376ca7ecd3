// A WebSocket that the test controls, for the client with a manual clock.
import { clientWith, ManualClock } from './millrace-client.mjs';

/** Lets the client's promises settle, which need no time. */
export const settled = () => new Promise(setImmediate);

/** A client over sockets in the order in which it made them; `clock` is its time. */
export async function scripted(t, options = {}) {
  const made = [];
  class Scripted extends EventTarget {
    sent = [];
    readyState = 1;

    constructor(url, protocols) {
      super();
      made.push(Object.assign(this, { url, protocols }));
    }

    send(message) {
      this.sent.push(message);
    }

    close(code) {
      this.closedWith = code;
    }

    /** It ends, as the client sees it. */
    end(code = 1006, reason = '') {
      this.dispatchEvent(Object.assign(new Event('close'), { code, reason }));
    }

    say(header, payload) {
      const line = JSON.stringify(header);
      this.write(payload === undefined ? line : `${line}\n${payload}`);
    }

    write(data) {
      this.dispatchEvent(Object.assign(new Event('message'), { data }));
    }

    hi(more) {
      this.say({ t: 'hi', v: 1, s: `${made.length}`, ping: 25_000, ...more });
    }

    /** The headers that were sent. */
    get headers() {
      return this.sent.map((message) => JSON.parse(message.split('\n')[0]));
    }

    /** Answers the last request of a kind. */
    answer(kind, header, payload) {
      const { id } = this.headers.findLast(({ t }) => t === kind);
      this.say({ t: 'ok', id, ...header }, payload);
    }

    /** How many pings were sent. */
    get pings() {
      return this.headers.filter(({ t }) => t === 'ping').length;
    }
  }
  const clock = new ManualClock();
  const { createClient, CallError } = await clientWith(clock);
  const client = createClient('ws://server/', { WebSocket: Scripted, ...options });
  t.teardown(() => client.close());
  const statuses = [];
  client.onStatus((status, reason) => statuses.push(reason ? [status, reason.code, reason.reason] : [status]));
  await settled();
  return { client, clock, made, statuses, CallError };
}

/** The same, open. */
export async function open(t, options) {
  const all = await scripted(t, options);
  all.made[0].hi();
  return all;
}
