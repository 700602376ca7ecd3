// Publications and members that go on while servers die, and what must be true of them afterwards. They keep a pace, so
// that what is missed meanwhile is still kept, and few clients are enough.
import { setTimeout as later } from 'node:timers/promises';

import { until, within } from './deadline.mjs';
import { knowAll, present } from './presence.mjs';

const PUBLISHES_MS = 20;
const MOVES_MS = 100;
const FAILED = ['ERR_MILLRACE_HISTORY_UNAVAILABLE', 'ERR_MILLRACE_PUBLICATION_UNKNOWN'];

/** Publishes in a channel on each node until it is checked. */
export class SteadyPublishers {
  /** The position of each payload that was accepted. */
  published = new Map();
  /** The codes of the others. */
  failed = [];
  #nodes;
  #counts;
  #isEnough = false;
  #all;

  constructor(t, nodes, channel) {
    t.teardown(() => {
      this.#isEnough = true;
    });
    this.#nodes = nodes;
    this.#counts = nodes.map(() => 0);
    this.#all = Promise.all(nodes.map((node, own) => this.#publish(node, own, channel)));
  }

  async #publish(node, own, channel) {
    for (let n = 0; !this.#isEnough; n++) {
      const payload = `${own} ${n}`;
      try {
        const { position } = await node.call('publish', channel, payload);
        this.published.set(payload, position);
        this.#counts[own] += 1;
      } catch (error) {
        this.failed.push(error.code);
      }
      await later(PUBLISHES_MS);
    }
  }

  /** Waits until each node has published some more. */
  async goesOn() {
    const before = [...this.#counts];
    await until(
      () => this.#counts.every((count, own) => count >= before[own] + 10),
      async () =>
        `publications: ${before} and ${this.#counts}, failed: ${this.failed.slice(-5)}; ${await this.#statesOfNodes()}`,
    );
  }

  /** What its nodes say of their stores. */
  async #statesOfNodes() {
    const state = async (node) => ({ link: (await node.call('stats')).backplane, errors: await node.errors() });
    const states = this.#nodes.map((node) => within(state(node), 'an answer', 5000).catch(({ message }) => message));
    return JSON.stringify(await Promise.all(states));
  }

  /** Ends it, and checks that the followers have everything that was accepted, under its number, without a hole. */
  async finish(t, followers) {
    this.#isEnough = true;
    await this.#all;
    t.deepEqual(
      this.failed.filter((code) => !FAILED.includes(code)),
      [],
    );
    const positions = [...this.published.values()];
    t.is(new Set(positions.map(({ epoch }) => epoch)).size, 1, 'numbers go on');
    const newest = Math.max(...positions.map(({ offset }) => offset));
    for (const follower of followers) {
      await until(
        () => follower.position.o >= newest,
        () => `${newest}, not ${follower.position.o}`,
      );
      t.deepEqual([...follower.violations, ...follower.gaps], []);
      const got = new Map(follower.got.map(([offset, payload]) => [payload, offset]));
      const missing = [...this.published].filter(([payload, { offset }]) => got.get(payload) !== offset);
      t.deepEqual(missing, []);
    }
  }
}

/** Members of a channel that come on each node in turn, and of which some go again, until they are checked. */
export class SteadyMembers {
  /** The infos of those that are there, by name. */
  there = new Map();
  /** How many have come. */
  count = 0;
  #nodes;
  #channel;
  #clients = [];
  #isEnough = false;
  #all;

  constructor(t, nodes, channel) {
    this.#nodes = nodes;
    this.#channel = channel;
    t.teardown(() => {
      this.#isEnough = true;
    });
    this.#all = this.#move(t);
    this.#all.catch(() => {});
  }

  async #move(t) {
    while (!this.#isEnough) {
      await this.enter(t, this.#nodes[this.count % this.#nodes.length]);
      if (this.count % 3 === 2) this.leave();
      await later(MOVES_MS);
    }
  }

  /** A member comes. */
  async enter(t, node) {
    const info = ++this.count;
    const client = await present(t, node, this.#channel, info);
    this.there.set(client.hi.s, info);
    this.#clients.push(client);
  }

  /** The one that came first goes. */
  leave() {
    const client = this.#clients.shift();
    client.ws.terminate();
    this.there.delete(client.hi.s);
  }

  /** Waits until some more have come. */
  async goesOn() {
    const before = this.count;
    await until(() => this.count >= before + 6, 'members to come and go');
  }

  /** Ends it, and waits until all nodes know who is there. `others`: names and infos of further members. */
  async finish(t, others = []) {
    this.#isEnough = true;
    await this.#all;
    await this.areKnown(t, others);
  }

  async areKnown(t, others = []) {
    const all = [...this.there, ...others];
    await knowAll(this.#nodes, this.#channel, all);
    for (const node of this.#nodes) {
      t.is((await node.call('presenceCount', this.#channel)).sockets, all.length);
    }
  }
}
