// A cluster of three nats-servers with JetStream on loopback for all tests of a file, and what an operator does there.
import { execFileSync } from 'node:child_process';

import { toolPath } from '../../scripts/optional-tools.mjs';
import { SOON, until } from './deadline.mjs';
import { Nats, needingNats } from './nats.mjs';
import { freePort } from './ports.mjs';

const COUNT = 3;
/** How long a server may take for an answer: while a leader is elected there is none. */
const ANSWER_MS = 2000;

/** See the file. */
export class NatsCluster {
  /** They are called `n0`, `n1` and `n2`. */
  servers = [];

  /** One for all tests of a file; not started if it is not installed. */
  static of(test) {
    const cluster = new NatsCluster();
    const hooks = needingNats(test);
    hooks.before(() => cluster.#start());
    hooks.after.always(() => Promise.all(cluster.servers.map((server) => server.end())));
    return cluster;
  }

  async #start() {
    this.servers = Array.from({ length: COUNT }, () => new Nats());
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
          answer = await server.ask(subject, body, ANSWER_MS).catch((error) => ({ error }));
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

  /** Whether histories may have copies: since NATS 2.9.21. */
  get isSerial() {
    const version = execFileSync(toolPath('nats-server'), ['--version'], { encoding: 'utf8' });
    const [major, minor, patch] = version.match(/\d+/g).map(Number);
    return (major - 2) * 1e6 + (minor - 9) * 1e3 + (patch - 21) >= 0;
  }

  /** Lets this server alone have a stream. */
  async place(stream, server) {
    await this.copy([stream]);
    await this.stepDown(stream, server);
    await this.edit(stream, { num_replicas: 1 });
    const isPlaced = async () => {
      const { leader, replicas = [] } = (await this.info(stream)).cluster;
      return replicas.length === 0 && leader === this.#nameOf(server);
    };
    await until(isPlaced, 'the stream to be where it should');
  }

  #nameOf(server) {
    return `n${this.servers.indexOf(server)}`;
  }

  /** Copies streams to all servers. */
  async copy(streams) {
    for (const stream of streams) await this.edit(stream, { num_replicas: COUNT });
    for (const stream of streams) await this.hasCopies(stream);
  }

  /** Lets another server lead a stream that has copies: this one, if it is given. */
  async stepDown(stream, server) {
    const leader = async () => (await this.info(stream)).cluster.leader;
    const last = await leader();
    const wanted = server && this.#nameOf(server);
    const isDone = (name) => (wanted === undefined ? name !== undefined && name !== last : name === wanted);
    await until(
      async () => {
        const name = await leader();
        if (!isDone(name) && name) await this.ask(`$JS.API.STREAM.LEADER.STEPDOWN.${stream}`);
        return isDone(name);
      },
      () => `another leader of ${stream} than ${last}`,
    );
  }
}
