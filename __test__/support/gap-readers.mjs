// Readers of channels on several nodes, which are cut at random points and come back to any node: over `millrace.v1` itself,
// and with `millrace/client`.
import { until } from './deadline.mjs';
import { randomOf, take } from './gap-freedom.mjs';
import { createClient } from './millrace-client.mjs';
import { speak } from './v1.mjs';

/** Opens a connection to any node; undefined when it is over. */
export async function reach(t, nodes, seen, random, options) {
  while (!seen.isOver) {
    const node = nodes.any(random);
    try {
      return await speak(t, node, options);
    } catch {
      // it was killed meanwhile, or a worker that was killed is being replaced
    }
  }
}

/** A reader over the protocol itself. */
export class WireReader {
  last;
  #seen;
  #random;
  #client;

  constructor(seen, name, seed) {
    this.name = name;
    this.#seen = seen;
    this.#random = randomOf(seed);
  }

  get offset() {
    return this.last?.o ?? -1;
  }

  /** Ends what waits for a message. */
  end() {
    this.#client?.ws.terminate();
  }

  /** Reads until it is over. */
  async read(t, nodes) {
    const [seen, random] = [this.#seen, this.#random];
    const perMessageDeflate = random(3) === 0;
    while (!seen.isOver) {
      const client = await reach(t, nodes, seen, random, { perMessageDeflate });
      if (!client) return;
      this.#client = client;
      client.send({ t: 'sub', id: 1, c: this.name, ...(this.last && { since: this.last }) });
      const isRefused = await this.#receive(client, random(4) === 0 ? random(5) : random(400));
      client.ws.terminate();
      // a node that does not follow the channel yet refuses subscriptions while there is no store
      if (isRefused) await until(() => seen.isOver || !nodes.isAway, 'the store');
      else if (this.last && random(8) === 0) await this.#stayAway();
    }
  }

  /** Resolves with whether the subscription was refused. */
  async #receive(client, cut) {
    const seen = this.#seen;
    for (let count = 0; (count < cut || seen.isDone) && !seen.isOver; count++) {
      const message = await client.next().catch(() => undefined);
      if (!message) return false;
      const [{ t: kind, code }] = message;
      if (kind === 'err') {
        seen.check(code === 'failed', () => `${this.name}: refused with ${code}`);
        return true;
      }
      this.last = take(seen, this.name, this.last, message);
    }
    return false;
  }

  /** Until more was published than is kept, where that is little. */
  #stayAway() {
    const [seen, name] = [this.#seen, this.name];
    const back = this.last.o + Math.min(seen.history(name), 500) + 1 + this.#random(50);
    return until(
      () => seen.isDone || seen.newest(name) >= back,
      () => `${name} to reach ${back}`,
    );
  }
}

/** A reader with `millrace/client`, whose connections are cut under it. */
export class ClientReader {
  offset = -1;
  #seen;
  #random;
  #socket;
  #left = 0;
  #ended = new Promise((resolve) => {
    this.end = resolve;
  });

  constructor(seen, name, seed) {
    this.name = name;
    this.#seen = seen;
    this.#random = randomOf(seed);
  }

  /** Reads until it is over. */
  async read(_t, nodes) {
    const [seen, name] = [this.#seen, this.name];
    const opened = (socket) => {
      this.#socket = socket;
      this.#left = this.#random(800);
    };
    const client = createClient('ws://any.node', { WebSocket: nodes.webSocketOf(this.#random, opened) });
    const room = client.subscribe(name, {
      onSubscribed: () => {
        if (this.offset === -1) this.offset = room.position.offset;
      },
      onMessage: ({ offset, data }) => {
        seen.check(offset === this.offset + 1, () => `${name}: a client has ${offset} behind ${this.offset}`);
        // a client publishes JSON
        seen.message(name, offset, typeof data === 'string' ? data : JSON.stringify(data));
        this.offset = offset;
        this.#left -= 1;
        if (this.#left === 0) this.#socket.terminate();
      },
      onGap: ({ epoch, offset }) => {
        seen.check(offset > this.offset, () => `${name}: a client has a gap to ${offset} behind ${this.offset}`);
        seen.position(name, { e: epoch, o: offset });
        seen.gap(name, this.offset, offset);
        this.offset = offset;
      },
      onRecovered: () => {
        seen.recoveries += 1;
      },
      onError: ({ code }) => seen.check(false, () => `${name}: a client is refused with ${code}`),
    });
    await this.#ended;
    client.close();
  }
}

/** Waits until all readers have everything, or something went wrong. */
export async function areThere(readers, seen, newest, ms) {
  const late = () => readers.filter(({ name, offset }) => offset < newest[name]);
  await until(
    () => seen.failures.length > 0 || late().length === 0,
    () => `all readers to have everything: ${late().map(({ name, offset }) => `${name} ${offset} of ${newest[name]}`)}`,
    ms,
  );
}
