// What the tests of the admin page share: a server that has one, requests with its token, and the lines of a tap.
import { until } from './deadline.mjs';
import { worker } from './server.mjs';

export const TOKEN = '0123456789abcdef-admin';

/** Options of a server with an admin page. Channels of "kept:…" have history. */
export const withAdmin = (more = {}) => ({
  workerPath: worker('commands'),
  threads: 2,
  ioThreads: 2,
  stats: true,
  admin: { token: TOKEN },
  channels: { 'kept:*': { history: { messages: 5, ageMs: 600_000 } } },
  ...more,
});

export const at = (server, where = '') => `http://${server.addresses[0]}/admin${where}`;

/** A request with the token, or with another one, or with none (`null`). */
export function get(server, where, { token = TOKEN, ...options } = {}) {
  const headers = token === null ? {} : { Authorization: `Bearer ${token}` };
  return fetch(at(server, where), { headers, ...options });
}

export const json = async (server, where) => (await get(server, where)).json();

/** All channels that are listed, by pages of this size. */
export async function allChannels(server, limit, find = '') {
  const [all, sizes] = [[], []];
  let after = '';
  while (after !== null) {
    const page = await json(server, `/channels?limit=${limit}&find=${find}&after=${after}`);
    all.push(...page.channels);
    sizes.push(page.channels.length);
    after = page.next;
  }
  return { all, sizes };
}

/** The messages of a channel as they pass. */
export class Tap {
  lines = [];
  isOver = false;
  #control = new AbortController();

  static async open(t, server, channel, options = {}) {
    const tap = new Tap();
    t.teardown(() => tap.close());
    const signal = tap.#control.signal;
    tap.answer = await get(server, `/tap?channel=${channel}`, { signal, ...options });
    if (tap.answer.ok) {
      tap.ended = tap.#read();
      await tap.until(() => tap.lines.some(({ tap }) => tap === 'open'), 'the begin of the tap');
    }
    return tap;
  }

  messages() {
    return this.lines.filter(({ kind }) => kind !== undefined);
  }

  until(condition, what) {
    return until(condition, () => `${what}: ${JSON.stringify(this.lines).slice(0, 2000)}`);
  }

  close() {
    this.#control.abort();
  }

  async #read() {
    const decoder = new TextDecoder();
    let rest = '';
    try {
      for await (const piece of this.answer.body) {
        const lines = (rest + decoder.decode(piece, { stream: true })).split('\n');
        rest = lines.pop();
        this.lines.push(...lines.filter((line) => line !== '').map((line) => JSON.parse(line)));
      }
    } catch (error) {
      if (error.name !== 'AbortError') this.error = error;
    }
    this.isOver = true;
  }
}
