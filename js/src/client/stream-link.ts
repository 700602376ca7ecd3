/** A link to the server over a stream of Server-Sent Events, which sends by POST. */

import type { FetchLike } from './client-settings.js';
import { decode, fromBase64 } from './v1-message.js';
import type { Link, LinkListener } from './web-socket-link.js';

/** How long a message may take: so long, and a millisecond for each 16 bytes or characters, which is a second for 16 KiB. */
const POST_MS = 20_000;
const UNITS_PER_MS = 16;

/** Messages are sent one after the other, so that they arrive in order. */
export function streamLink(fetch: FetchLike, url: string, token: string | undefined, listener: LinkListener): Link {
  const aborting = new AbortController();
  const { signal } = aborting;
  const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  let sent: Promise<unknown> = Promise.resolve();
  let over = false;

  const lose = (code: number, reason: string) => {
    if (over) return;
    close();
    listener.lost(code, reason);
  };
  const fail = (error: unknown) => lose(1006, String(error));
  read().catch(fail);
  return { send, close };

  function close() {
    over = true;
    aborting.abort();
  }

  function send(message: string | Uint8Array) {
    sent = sent
      .then(async () => {
        if (over) return;
        // without a type it is text
        const type = typeof message !== 'string' && { 'Content-Type': 'application/octet-stream' };
        const init = { method: 'POST', headers: { ...headers, ...type }, body: message as never, signal };
        // what the server sends meanwhile does not show that it receives
        const timer = setTimeout(fail, POST_MS + message.length / UNITS_PER_MS, 'no answer');
        const { status } = await fetch(url, init).finally(() => clearTimeout(timer));
        // as over a WebSocket: sent again, it would be refused again
        if (status === 413) return lose(1009, 'HTTP 413');
        if (status !== 204) throw `HTTP ${status}`;
      })
      .catch(fail);
  }

  async function read() {
    const { status, body } = await fetch(url, {
      method: 'GET',
      headers: { ...headers, Accept: 'text/event-stream' },
      signal,
    });
    // a stream cannot be closed with 4001 before it begins
    if (status === 401 || status === 403) return lose(4001, `HTTP ${status}`);
    const reader = body?.getReader();
    if (status !== 200 || !reader) return fail(`HTTP ${status}`);
    const decoder = new TextDecoder();
    let text = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (over) return;
      if (done) return fail('end');
      listener.alive();
      let from = text.length - 1;
      text += decoder.decode(value, { stream: true });
      for (let end = text.indexOf('\n\n', from); end >= 0; end = text.indexOf('\n\n', from)) {
        take(text.slice(0, end));
        text = text.slice(end + 2);
        from = 0;
      }
    }
  }

  function take(event: string) {
    const field = (name: string) =>
      event
        .split('\n')
        .flatMap((line) => (line.startsWith(`${name}:`) ? line.slice(name.length + 1).replace(/^ /, '') : []));
    const data = field('data').join('\n');
    if (field('event')[0] === 'close') return lose(Number.parseInt(data, 10) || 1006, data.replace(/^\d+ ?/, ''));
    if (!data || over) return;
    let [header, payload] = decode(data);
    if (payload !== undefined && header.b) {
      const bytes = fromBase64(payload as string);
      payload = header.b === 1 ? bytes : new TextDecoder().decode(bytes);
    }
    if (header.t === 'hi') headers['Millrace-Socket'] = `${header.s}.${header.k}`;
    listener.message(header, payload);
  }
}
