// Streams of Server-Sent Events as plain requests, and something between client and server that can cut all connections.
import { once } from 'node:events';
import net from 'node:net';

/** A stream; `next()` is the next event as it came, without comments. `last`: the id of the last event that was seen. */
export async function eventStream(t, server, query, last) {
  const leaving = new AbortController();
  t.teardown(() => leaving.abort());
  const headers = { accept: 'text/event-stream', ...(last !== undefined && { 'last-event-id': last }) };
  const response = await fetch(`http://${server.addresses[0]}/events?${query}`, { headers, signal: leaving.signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const next = async () => {
    for (;;) {
      const end = text.indexOf('\n\n');
      if (end < 0) {
        const { done, value } = await reader.read();
        if (done) return undefined;
        text += value;
        continue;
      }
      const event = text.slice(0, end);
      text = text.slice(end + 2);
      if (event !== ':') return event;
    }
  };
  return { status: response.status, next, leave: () => leaving.abort() };
}

/** A class of WebSockets that are blocked, so that a client uses a stream. */
export class BlockedWebSocket extends EventTarget {
  constructor() {
    super();
    setTimeout(() => this.dispatchEvent(Object.assign(new Event('close'), { code: 1006, reason: 'blocked' })));
  }

  close() {}
}

/** Carries connections to the address that `to` has then, until `cut`. */
export class Relay {
  #open = new Set();
  #between;

  static async to(t, to) {
    const relay = new Relay();
    relay.to = to;
    relay.#between = net.createServer((near) => relay.#carry(near));
    relay.#between.listen(0, '127.0.0.1');
    await once(relay.#between, 'listening');
    t.teardown(() => {
      relay.cut();
      relay.#between.close();
    });
    return relay;
  }

  get address() {
    return `127.0.0.1:${this.#between.address().port}`;
  }

  cut() {
    for (const one of this.#open) one.destroy();
  }

  #carry(near) {
    const [host, port] = this.to.split(':');
    const far = net.connect(Number(port), host);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ]) {
      this.#open.add(one);
      one.pipe(other);
      one.on('error', () => other.destroy());
      one.on('close', () => this.#open.delete(one) && other.destroy());
    }
  }
}
