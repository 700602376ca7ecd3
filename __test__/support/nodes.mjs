// Several nodes: processes that run Millrace and share a backplane.
import { until } from './deadline.mjs';
import { ServerProcess, worker } from './server.mjs';

/** `count` processes on one backplane with connected links, ended with the test. */
export async function startNodes(t, backplane, { count = 2, ...more } = {}) {
  const nodes = Array.from({ length: count }, () => new ServerProcess());
  t.teardown(() => Promise.all(nodes.map((node) => node.end())));
  await Promise.all(nodes.map((node) => node.launch()));
  const options = { workerPath: worker('backplane'), threads: 2, ioThreads: 2, ...more };
  const waiting = typeof backplane === 'string' ? { url: backplane, waitMs: 60_000 } : { waitMs: 60_000, ...backplane };
  await Promise.all(nodes.map((node) => node.start({ ...options, backplane: waiting })));
  return nodes;
}

/** `stats().backplane` of a node. */
export async function linkOf(node) {
  return (await node.call('stats')).backplane;
}

/** Waits until the condition holds for a node's link. */
export function linkThat(node, what, condition) {
  let link;
  return until(
    async () => {
      link = await linkOf(node);
      return condition(link) && link;
    },
    () => `a link that ${what}: ${JSON.stringify(link)}`,
  );
}

/** Waits until a node has so many channels and patterns of the server, without those for the nodes themselves. */
export function hears(node, count) {
  return linkThat(node, `hears ${count} channels`, (link) => link.subscriptions === count + 1);
}
