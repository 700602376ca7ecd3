// Clients that know who is present in a channel as an application does, on one node or on several.
import { again, until, within } from './deadline.mjs';
import { ServerProcess, worker } from './server.mjs';
import { speak } from './v1.mjs';

/** Sends a message, and resolves with the answer, behind what is told meanwhile. */
export async function answer(client, header) {
  client.send({ id: 'p', ...header });
  for (;;) {
    const message = await client.next();
    if (message[0].id === 'p') return message;
    client.told ??= [];
    client.told.push(message[0]);
  }
}

/** Asks for members; resolves with the header of the answer and the list. */
export async function ask(client, header) {
  const [answered, payload] = await answer(client, { t: 'pres', ...header });
  return [answered, payload && JSON.parse(payload)];
}

/** What a client is told next of a socket, such as `['join', { name: 'Ada' }]`. */
export async function toldOf(client, socket) {
  for (;;) {
    const { t, m = [] } = client.told?.shift() ?? (await client.next())[0];
    const found = m.find(({ s }) => s === socket);
    if (found) return [t, found.info];
  }
}

/** A client that knows who is there as an application does: it asks once, and then believes what it is told. */
export class Watcher {
  /** `undefined`: only the number is known. */
  known = undefined;
  counts = [];
  told = [];
  /** The codes of questions that were not answered. Once they can be, the server tells the number. */
  refused = [];

  static async on(t, own, c, more = {}) {
    const watcher = new Watcher();
    watcher.client = await speak(t, own);
    watcher.c = c;
    await watcher.client.subscribe(c, more);
    watcher.client.ws.on('message', (data) => watcher.#take(JSON.parse(data.toString().split('\n', 1)[0]), data));
    watcher.ask();
    return watcher;
  }

  ask(after = undefined) {
    if (after === undefined) this.known = new Map();
    this.client.send({ t: 'pres', id: 'w', c: this.c, limit: 3, after });
  }

  #take({ t, m, n, id, more, code }, data) {
    if (t === 'ok' && id === 'w') {
      const list = JSON.parse(data.toString().split('\n')[1]);
      for (const { s, info } of list) this.known.set(s, info);
      if (more) this.ask(list.at(-1).s);
      return;
    }
    if (t === 'err' && id === 'w') {
      this.refused.push(code);
      return;
    }
    this.told.push(t);
    if (t === 'count') {
      this.counts.push(n);
      this.ask();
    } else if (t === 'leave') for (const { s } of m) this.known.delete(s);
    else if (t === 'join' || t === 'update') for (const { s, info } of m) this.known.set(s, info);
  }
}

/** The members of a channel as the server knows them, by socket. */
export async function membersOf(own, channel) {
  const { members } = await own.call('presence', channel);
  const name = ({ socketId, node }) => (/^0+$/.test(node) ? `${socketId}` : `${node}-${socketId}`);
  return new Map(members.map((member) => [name(member), member.info]));
}

/**
 * Waits like `until`. If it is in vain, the error says what every node and every watcher knows of the channel. `look(channel)`:
 * what the server has.
 */
export function witness(nodes, watchers, channel = watchers[0].c, look = undefined) {
  const states = () => statesOf(nodes, watchers, channel, look);
  return (condition, what) => until(condition, async () => `${what}; what was known: ${await states()}`);
}

async function statesOf(nodes, watchers, channel, look = undefined) {
  const say = (promise) => within(promise, 'an answer', 5000).catch(({ message }) => message);
  const all = nodes.map(async (node) => ({
    members: await say(membersOf(node, channel).then((members) => [...members])),
    count: await say(node.call('presenceCount', channel)),
    link: await say(node.call('stats').then(({ backplane }) => backplane)),
    errors: await say(node.errors()),
  }));
  const seen = watchers.map(({ client, known, ...watcher }) => ({
    own: client.hi.s,
    known: [...(known ?? [])],
    closed: client.closed,
    ...watcher,
  }));
  const server = look && (await say(look(channel)));
  return JSON.stringify({ nodes: await Promise.all(all), watchers: seen, server }, undefined, 1);
}

const sorted = (map) => JSON.stringify([...map].sort());

/** Waits until a watcher knows exactly the members. */
export function agrees(own, watcher) {
  let both;
  return until(
    async () => {
      both = [watcher.known, await membersOf(own, watcher.c)].map(sorted);
      return both[0] === both[1];
    },
    async () =>
      `a watcher to know ${both?.[1]}, not ${both?.[0]}; what was known: ${await statesOf([own], [watcher], watcher.c)}`,
  );
}

const presence = true;
const CLIENTS = { subscribe: true, info: true };

export const CHANNELS = [
  ['room:*', { presence, clients: CLIENTS }],
  ['old:*', { presence, history: { messages: 10, ageMs: 60_000 }, clients: CLIENTS }],
];

/** The options of a node. `more`: such as limits. */
export const nodeOptions = (url, more = {}) => ({
  workerPath: worker('commands'),
  threads: 1,
  ioThreads: 2,
  channels: CHANNELS,
  backplane: { url },
  ...more,
});

/**
 * Nodes for one test, which may kill them. Each has reached the store of members, which may take more than one attempt: before, it
 * refuses what is asked.
 */
export async function presentNodes(t, url, count, more) {
  const nodes = await earlyNodes(t, url, count, more);
  await Promise.all(nodes.map((node) => again(() => node.call('presence', 'room:none'), 'the store of members')));
  return nodes;
}

/** The same, but they may not have reached it yet. */
export async function earlyNodes(t, url, count, more) {
  const nodes = Array.from({ length: count }, () => new ServerProcess());
  t.teardown(() => {
    for (const node of nodes) node.kill();
  });
  await Promise.all(nodes.map((node) => node.launch()));
  await Promise.all(nodes.map((node) => node.start(nodeOptions(url, more))));
  return nodes;
}

/** A client that is a member. */
export async function present(t, node, channel, info) {
  const client = await speak(t, node);
  const { t: answer } = await client.subscribe(channel, info === undefined ? {} : { info });
  if (answer !== 'ok') throw new Error(`refused: ${answer}`);
  return client;
}

/** Waits until every node knows exactly these members: pairs of a client's name and its info. */
export async function knowAll(nodes, channel, expected, ms) {
  const text = sorted(new Map(expected));
  for (const [index, node] of nodes.entries()) {
    let known;
    await until(
      async () => {
        known = sorted(await membersOf(node, channel));
        return known === text;
      },
      async () => `node ${index} to know ${text}, not ${known}; what is known: ${await statesOf(nodes, [], channel)}`,
      ms,
    );
  }
}
