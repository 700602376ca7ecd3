// Numbered messages from four publishers on two nodes to subscribers on both, and the proof of what became of them.
import { linkThat } from './nodes.mjs';
import { ask, open } from './server.mjs';
import { Subscriber } from './subscriber.mjs';

/** Whether a million messages are sent rather than some ten thousands. */
export const IS_FULL = process.env.MILLRACE_TEST_BACKPLANE === 'full';

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

/** Two publishers on each node, each sending `count` messages; resolves with what each has sent. */
export async function publish(t, nodes, plan) {
  const names = nodes.flatMap((_, node) => [`${node}a`, `${node}b`]);
  const clients = await Promise.all(names.map((name) => open(t, nodes[Number(name[0])])));
  const answers = await Promise.all(
    clients.map((client, index) => ask(client, { cmd: 'publish', publisher: names[index], ...plan }, 600_000)),
  );
  return new Map(names.map((name, index) => [name, answers[index]]));
}

/** How many of `sent` messages went to channel `index` of `channels`. */
export const share = (sent, channels, index) => Math.floor((sent + channels - 1 - index) / channels);

/** Waits until every node has received or knows missing what the others have sent; resolves with the links. */
export function accounted(nodes, sent) {
  return Promise.all(
    nodes.map((node, own) => {
      const others = [...sent].filter(([name]) => Number(name[0]) !== own).reduce((sum, [, count]) => sum + count, 0);
      return linkThat(node, `accounts for ${others}`, (link) => link.received + link.missed === others);
    }),
  );
}
