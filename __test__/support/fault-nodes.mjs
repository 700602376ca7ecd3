// Nodes that share the history of their channels by a Redis, and the faults that happen to them: processes that are killed
// and started again, workers that die, links that break, and a Redis that is restarted with its data.
import WebSocket from 'ws';

import { until } from './deadline.mjs';
import { Redis } from './redis.mjs';
import { open, ServerProcess, worker } from './server.mjs';

/** How much each node may keep of what the store has: the first one all. */
const HISTORY_BYTES = [64 * 1024 * 1024, 64 * 1024, 8 * 1024];
const COUNT = HISTORY_BYTES.length;
/** So that what was accepted is never lost. */
const KEEPING = ['--appendonly', 'yes', '--appendfsync', 'always'];

/** See the file. */
export class FaultNodes {
  /** Whether publications fail because of a fault that takes long. */
  isAway = false;
  #options;
  #nodes = [];
  #started = [];
  #redis;

  /** `channels`: the option of `start`. */
  static async with(t, channels) {
    const nodes = new FaultNodes();
    nodes.#redis = await Redis.with(t, KEEPING);
    nodes.#options = {
      workerPath: worker('commands'),
      threads: 1,
      ioThreads: 1,
      compression: true,
      channels,
      backplane: { url: nodes.#redis.url, waitMs: 60_000 },
    };
    t.teardown(() => {
      for (const node of nodes.#started) node.kill();
    });
    await Promise.all(Array.from({ length: COUNT }, (_, index) => nodes.#launch(index)));
    return nodes;
  }

  get all() {
    return this.#nodes.filter((node) => node !== undefined);
  }

  any(random) {
    const { all } = this;
    return all[random(all.length)];
  }

  /** A class of WebSockets that connect to any node, whatever the URL. `opened` is told of each. */
  webSocketOf(random, opened) {
    const nodes = this;
    return class extends WebSocket {
      constructor(_url, protocols) {
        super(`ws://${nodes.any(random).addresses[0]}/`, protocols);
        opened(this);
      }
    };
  }

  /** Each fault ends when everything works again. */
  faults = {
    /** A node is killed, and another takes its place. */
    node: async (_t, random) => {
      const index = random(COUNT);
      const node = this.#nodes[index];
      this.#nodes[index] = undefined;
      node.kill();
      await node.exited;
      await this.#launch(index);
    },
    worker: async (t, random) => {
      const client = await open(t, this.any(random)).catch(() => undefined);
      client?.send(JSON.stringify({ cmd: 'exit', n: 1, code: 1 }));
      await client?.closed();
    },
    /** The links of all nodes break, of those that follow channels, or of the others. */
    links: async (_t, random) => {
      const which = [
        ['SKIPME', 'yes'],
        ['TYPE', 'pubsub'],
        ['TYPE', 'normal'],
      ][random(3)];
      await this.#redis.cli('CLIENT', 'KILL', ...which);
    },
    /** One node's link to the store breaks again and again, so that the node is behind the others for some time. */
    lag: async (_t, random) => {
      const known = await this.#storeLinks();
      let id = known[random(known.length)];
      for (let round = 0; id !== undefined && round < 4; round++) {
        await this.#redis.cli('CLIENT', 'KILL', 'ID', id);
        id = await until(
          async () => (await this.#storeLinks()).find((one) => !known.includes(one)),
          'the link to be made again',
        );
        known.push(id);
      }
    },
    /** A Redis that is killed may lack what it has sent to subscribers already, so it is told to end. */
    redis: async () => {
      this.isAway = true;
      await this.#redis.shutDown();
      await this.#redis.launchAgain();
      await this.#areReady();
      this.isAway = false;
    },
  };

  /** The ids of the links to the store that follow channels; other links have names. */
  async #storeLinks() {
    const list = await this.#redis.cli('CLIENT', 'LIST', 'TYPE', 'pubsub');
    return [...list.matchAll(/^id=(\d+) .* name= /gm)].map(([, id]) => id);
  }

  #areReady() {
    const state = async (node) => (await node.call('stats')).backplane.history.state;
    const areReady = async () => (await Promise.all(this.all.map(state))).every((one) => one === 'ready');
    return until(areReady, 'all nodes to reach the store again');
  }

  async #launch(index) {
    const node = new ServerProcess();
    this.#started.push(node);
    await node.launch();
    await node.start({ ...this.#options, limits: { historyBytes: HISTORY_BYTES[index] } });
    this.#nodes[index] = node;
  }
}
