// A cluster of three nats-servers with JetStream on loopback for all tests of a file, and what an operator does there.
import { SOON, until } from './deadline.mjs';
import { Nats, needingNats } from './nats.mjs';
import { linkThat } from './nodes.mjs';
import { freePort } from './ports.mjs';
import { presentNodes } from './presence.mjs';

/** Servers whose streams may all have copies, and whose elections are steady. */
export const CURRENT = 'nats-server of 2.11 or newer';

/** Servers that are too old for copies of histories. */
export const OLD = 'nats-server of 2.9.20 or older';

const COUNT = 3;
/** How long a server may take for an answer: while a leader is elected there is none. */
const ANSWER_MS = 2000;

/** Messages are kept so long that none is gone while a leader is elected. */
const channels = (messages) => [
  ['room:*', { presence: true, clients: { subscribe: true, info: true } }],
  ['kept:*', { history: { messages, ageMs: 3_600_000 }, clients: { subscribe: true } }],
];

/** A node that knows one server: `room:…` has members, and `kept:…` so many messages. */
export async function nodeAt(t, { url }, prefix, messages = 10_000) {
  const [node] = await presentNodes(t, url, 1, { backplane: { url, prefix }, channels: channels(messages) });
  return node;
}

/** Waits until a node can publish again, over another server than before or over the same. */
export async function isBack(node) {
  await linkThat(node, 'is ready', ({ state, history }) => state === 'ready' && history.state === 'ready');
}

/** See the file. */
export class NatsCluster {
  /** They are called `n0`, `n1` and `n2`. */
  servers = [];

  /** One for all tests of a file, of servers that are this program (see `Nats`); not started if it is not installed. */
  static of(test, program) {
    const cluster = new NatsCluster();
    const hooks = needingNats(test, program);
    hooks.before(() => cluster.#start(program));
    hooks.after.always(() => Promise.all(cluster.servers.map((server) => server.end())));
    return cluster;
  }

  async #start(program) {
    this.servers = Array.from({ length: COUNT }, () => new Nats(program));
    const ports = await Promise.all(this.servers.map(freePort));
    const routes = ports.map((port) => `nats-route://127.0.0.1:${port}`);
    const all = ['--cluster_name', 'chat', '--routes', routes.join(',')];
    await Promise.all(
      this.servers.map((server, index) =>
        server.startStreams(['--name', `n${index}`, '--cluster', routes[index], ...all]),
      ),
    );
  }

  /** Starts the servers that do not run, and waits until all of them answer. */
  async isWhole() {
    await Promise.all(this.servers.filter((server) => !server.isRunning).map((server) => server.launchAgain()));
    for (const server of this.servers) await this.#asked([server], '$JS.API.STREAM.NAMES');
  }

  /** The answer to an operator's request, when there is one without an error. */
  ask(subject, body) {
    return this.#asked(this.servers, subject, body);
  }

  async #asked(servers, subject, body) {
    let answer;
    await until(
      async () => {
        for (const server of servers.filter(({ isRunning }) => isRunning)) {
          answer = await answerOf(server, subject, body);
          if (answer.error === undefined) return true;
        }
        return false;
      },
      () => `an answer to ${subject}: ${JSON.stringify(answer)}`,
      2 * SOON,
    );
    return answer;
  }

  /** The names of the streams of nodes with this prefix, as soon as they have made them. */
  async streamsOf(prefix) {
    const found = {};
    for (const [kind, subject] of [
      ['members', `${prefix}!m.>`],
      ['sessions', `${prefix}!l.*`],
      ['history', `${prefix}!h.>`],
    ]) {
      await until(
        async () => {
          const { streams } = await this.ask('$JS.API.STREAM.NAMES', { subject });
          found[kind] = streams?.[0];
          return found[kind];
        },
        () => `the stream of ${subject}`,
      );
    }
    return found;
  }

  /** The configuration of a stream, with who leads it and where its copies are. */
  info(stream) {
    return this.ask(`$JS.API.STREAM.INFO.${stream}`);
  }

  /** Changes a stream as `nats stream edit` does. */
  async edit(stream, changes) {
    const { config } = await this.info(stream);
    await this.ask(`$JS.API.STREAM.UPDATE.${stream}`, { ...config, ...changes });
  }

  /** Waits until each server has a copy of a stream, and is up to date. */
  async hasCopies(stream) {
    let cluster;
    await until(
      async () => {
        ({ cluster } = await this.info(stream));
        const { leader, replicas = [] } = cluster;
        return leader && replicas.length === COUNT - 1 && replicas.every(({ current }) => current);
      },
      () => `copies of ${stream}: ${JSON.stringify(cluster)}`,
    );
  }

  #nameOf(server) {
    return `n${this.servers.indexOf(server)}`;
  }

  /** Copies streams to all servers. */
  async copy(streams) {
    for (const stream of streams) await this.edit(stream, { num_replicas: COUNT });
    for (const stream of streams) await this.hasCopies(stream);
  }

  /** Waits until another server than this one leads a stream. */
  async isLedByAnother(stream, server) {
    let leader;
    await until(
      async () => {
        ({ leader } = (await this.info(stream)).cluster);
        return leader && leader !== this.#nameOf(server);
      },
      () => `another leader of ${stream} than ${leader}`,
      2 * SOON,
    );
  }

  /** Has this server lead a stream that has copies, which needs NATS 2.11. */
  async stepDown(stream, server) {
    const preferred = this.#nameOf(server);
    let leader;
    let answer;
    await until(
      async () => {
        ({ leader } = (await this.info(stream)).cluster);
        if (leader === preferred) return true;
        const [one] = this.servers.filter(({ isRunning }) => isRunning);
        answer = await answerOf(one, `$JS.API.STREAM.LEADER.STEPDOWN.${stream}`, { placement: { preferred } });
        return false;
      },
      () => `${preferred} to lead ${stream}, not ${leader}: ${JSON.stringify(answer)}`,
    );
  }
}

/** What a server answers; without an answer, why there is none. */
const answerOf = (server, subject, body) =>
  server.ask(subject, body, ANSWER_MS).catch(({ message }) => ({ error: message }));
