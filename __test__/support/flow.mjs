// Numbered messages from four publishers on two nodes to subscribers on both, and checks that all of them are accounted
// for.
import { setTimeout as later } from 'node:timers/promises';

import { linkThat } from './nodes.mjs';
import { ask, open } from './server.mjs';
import { Subscriber } from './subscriber.mjs';

/** Whether a million messages are sent instead of some tens of thousands. */
export const IS_FULL = process.env.MILLRACE_TEST_BACKPLANE === 'full';

/** Messages of one publisher in flight to the slowest subscriber: fewer than a slow reader may leave unread. */
const WINDOW = 8192;

/** Subscribers of both nodes: `count` on all, `channels` channels between them. */
export async function subscribers(t, nodes, { channels, count }) {
  const lists = await Promise.all(
    nodes.map((node) =>
      Promise.all(
        Array.from({ length: count / nodes.length }, (_, index) =>
          Subscriber.open(t, node.addresses[0], `room-${index % channels}`),
        ),
      ),
    ),
  );
  await Promise.all(
    nodes.map((node) => linkThat(node, 'hears every channel', (link) => link.subscriptions === channels + 1)),
  );
  return lists;
}

/** The publishers on these nodes. */
export const publishers = (nodes) => nodes.flatMap((_, node) => [`${node}a`, `${node}b`]);

/** Two publishers on each node, each sending `count` messages; resolves with what each has sent. */
export async function publish(t, nodes, plan) {
  const names = publishers(nodes);
  const clients = await Promise.all(names.map((name) => open(t, nodes[Number(name[0])])));
  const answers = await Promise.all(
    clients.map((client, index) => ask(client, { cmd: 'publish', publisher: names[index], ...plan }, 600_000)),
  );
  return new Map(names.map((name, index) => [name, answers[index]]));
}

/**
 * Limits how far each publisher is ahead of the slowest subscriber, until `flowing` settles. `slowest` returns the
 * number of messages of each publisher that this subscriber has seen.
 */
export async function paced(nodes, slowest, flowing) {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  flowing.then(over, over);
  let before = -1;
  while (!isOver) {
    const allowed = slowest() + WINDOW;
    if (allowed !== before) await Promise.all(nodes.map((node) => node.call('setKey', 'allowed', String(allowed))));
    before = allowed;
    await later(5);
  }
  return flowing;
}

/** How many of `sent` messages went to channel `index` of `channels`. */
export const share = (sent, channels, index) => Math.floor((sent + channels - 1 - index) / channels);

/** Waits until every message is received or reported as missing at every other node; resolves with the links. */
export function accounted(nodes, sent) {
  return Promise.all(
    nodes.map((node, own) => {
      const others = [...sent].filter(([name]) => Number(name[0]) !== own).reduce((sum, [, count]) => sum + count, 0);
      return linkThat(node, `accounts for ${others}`, (link) => link.received + link.missed === others);
    }),
  );
}
