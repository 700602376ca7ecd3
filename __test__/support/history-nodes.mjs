// Two nodes whose channels keep their history in one Redis, and a client that checks what it gets: every number once and in
// order, or a gap that it is told of.
import { until } from './deadline.mjs';
import { linkThat } from './nodes.mjs';
import { ServerProcess, worker } from './server.mjs';
import { speak } from './v1.mjs';

const ageMs = 3_600_000;
const BOTH = { subscribe: true, publish: true };

export const CHANNELS = [
  ['room:*', { history: { messages: 1000, ageMs }, clients: BOTH }],
  ['named:*', { history: { messages: 100, ageMs }, clients: { subscribe: true, publish: { from: true } } }],
  ['few:*', { history: { messages: 3, ageMs }, clients: BOTH }],
  ['plain:*', { clients: BOTH }],
];

/** The options of a node. */
export const nodeOptions = (url) => ({
  bind: ['127.0.0.1:0', { address: '127.0.0.1:0', protocol: 'resp' }],
  workerPath: worker('no-handlers'),
  threads: 1,
  ioThreads: 2,
  channels: CHANNELS,
  backplane: { url, waitMs: 60_000 },
});

/** Waits until the link to the store of histories has this state: `start` waits only for the plain one. */
export const isStore = (node, state) =>
  until(
    async () => (await node.call('stats')).backplane.history.state === state,
    `the store of histories to be ${state}`,
  );

const isStoreReady = (node) => isStore(node, 'ready');

/** Two nodes for all tests of a file. `withRedis`: what `needingRedis` has returned, so that they run only where Redis does. */
export function sharedNodes(withRedis, redis) {
  const nodes = [new ServerProcess(), new ServerProcess()];
  withRedis.before(async () => {
    await Promise.all(nodes.map((node) => node.launch()));
    await Promise.all(nodes.map((node) => node.start(nodeOptions(redis.url))));
    await Promise.all(nodes.map(isStoreReady));
  });
  withRedis.after.always(() => Promise.all(nodes.map((node) => node.end())));
  return nodes;
}

/** Two nodes for one test, which may kill them. `more`: further options. */
export async function mortalNodes(t, url, more = {}) {
  const nodes = [new ServerProcess(), new ServerProcess()];
  t.teardown(() => {
    for (const node of nodes) node.kill();
  });
  await Promise.all(nodes.map((node) => node.launch()));
  await Promise.all(nodes.map((node) => node.start({ ...nodeOptions(url), ...more })));
  await Promise.all(nodes.map(isStoreReady));
  return nodes;
}

/** Waits until the plain link of a node is up again. */
export const isBack = (node) => linkThat(node, 'is ready', (link) => link.state === 'ready');

/** See the file. */
export class Follower {
  /** `[offset, payload]` of each message, in order. */
  got = [];
  /** The positions up to which something was missing, as it was told. */
  gaps = [];
  /** What came against the rules. */
  violations = [];
  #client;
  #epoch;
  #next;
  #over = false;

  /** Subscribes to a channel and reads on until the connection ends. `start`: `since` or `last`. */
  static async enter(t, node, channel, start = {}) {
    const follower = new Follower();
    follower.#client = await speak(t, node);
    follower.answer = await follower.#client.subscribe(channel, start);
    if (follower.answer.t !== 'ok') throw new Error(`refused: ${JSON.stringify(follower.answer)}`);
    const { e, o, recovered } = follower.answer;
    follower.#epoch = e;
    follower.#next = recovered ? start.since.o + 1 : o + 1 - Math.min(o, start.last ?? 0);
    follower.#read();
    return follower;
  }

  /** Where it is. */
  get position() {
    return { e: this.#epoch, o: this.#next - 1 };
  }

  get payloads() {
    return this.got.map(([, payload]) => payload);
  }

  /** Waits until it has got so many messages. */
  async has(count) {
    await until(
      () => this.got.length >= count,
      () => `${count} messages, not ${this.got.length}; gaps: ${JSON.stringify(this.gaps)}`,
    );
    return this;
  }

  cut() {
    this.#client.ws.terminate();
  }

  get isOver() {
    return this.#over;
  }

  async #read() {
    for (;;) {
      let message;
      try {
        message = await this.#client.next();
      } catch {
        if (this.#client.closed === undefined) continue;
        this.#over = true;
        return;
      }
      const [{ t: type, e, o }, payload] = message;
      if (type === 'gap') {
        if (e === this.#epoch && o < this.#next) this.violations.push(`a gap up to ${o} before ${this.#next}`);
        this.gaps.push({ e, o });
        this.#epoch = e;
        this.#next = o + 1;
      } else {
        if (o !== this.#next) this.violations.push(`${o} instead of ${this.#next}`);
        this.#next = o + 1;
        this.got.push([o, payload]);
      }
    }
  }
}
