// Publishers in channels that several nodes share, and what became of each message: a publication that was accepted is
// there under the number that was told, one that was refused is not, and one without an answer is there once or not at all.
import { until } from './deadline.mjs';
import { DELIVERIES, randomOf, Seen } from './gap-freedom.mjs';
import { reach } from './gap-readers.mjs';
import { createClient } from './millrace-client.mjs';

const IN_FLIGHT = 20;
/** The most messages that are published before somebody has looked at what is kept, in channels that are seen as a whole. */
const UNSEEN = 4000;

/** What everybody has seen, and what became of what was published. */
export class SharedSeen extends Seen {
  /** Whether all faults were made. */
  isDisturbed = false;
  /** Whether nothing more is published. */
  isEnough = false;
  /** Up to which number somebody has looked at what is kept; where nobody does, there is always room. */
  audited = {};
  /** `[name, offset, payload]` of what was accepted. */
  accepted = [];
  refused = new Set();
  unknown = new Set();

  /** `whole`: the channels of which everything is looked at. */
  constructor(channels, whole) {
    super(channels);
    for (const name of Object.keys(channels)) this.audited[name] = whole.includes(name) ? 0 : Number.POSITIVE_INFINITY;
  }

  get isDone() {
    return this.failures.length > 0 || (this.isDisturbed && this.deliveries >= DELIVERIES);
  }

  accept(name, { e, o }, payload) {
    this.position(name, { e, o });
    this.kept(name, o, payload);
    this.accepted.push([name, o, payload]);
  }

  /** Behind a node that has missed too much, the gap reaches to the newest message. */
  isExceeded(gap, newest, history) {
    const [from, to] = gap;
    return to - from > history || super.isExceeded(gap, newest, history);
  }

  finish(t) {
    super.finish(t);
    const all = new Map(Object.keys(this.audited).flatMap((name) => this.payloads(name).map((one) => [one, name])));
    t.deepEqual(
      [...this.refused].filter((payload) => all.has(payload)),
      [],
      'what was refused was not published',
    );
    const published = new Set([...this.accepted.map(([, , payload]) => payload), ...this.unknown]);
    t.deepEqual(
      [...all.keys()].filter((payload) => !published.has(payload)),
      [],
      'what is there was published',
    );
    for (const name of Object.keys(this.audited).filter((one) => Number.isFinite(this.audited[one])))
      t.is(Object.keys(this.payloads(name)).length, this.newest(name), `${name} is whole`);
  }
}

/** Runs each of these until it is enough; resolves when all have ended. */
export function publishAll(t, nodes, seen, seed) {
  const kinds = [inFlight, inFlight, keyed, fromJavaScript, withClient];
  return Promise.all(
    kinds.map((publish, index) => publish(t, nodes, seen, `${publish.name}${index}`, randomOf(seed + index))),
  );
}

/** Waits until there is room for more; false when it is enough. */
async function mayGoOn(nodes, seen, name) {
  const hasRoom = () => !nodes.isAway && seen.newest(name) - seen.audited[name] < UNSEEN;
  await until(
    () => seen.isEnough || hasRoom(),
    () => `room in ${name}: ${seen.audited[name]} of ${seen.newest(name)}`,
  );
  return !seen.isEnough;
}

const anyOf = (seen, random) => {
  const names = Object.keys(seen.audited);
  return names[random(names.length)];
};

const bodyOf = (id, serial, random) => `${id} ${serial} ${'x'.repeat(random(20) === 0 ? 3000 : 10)}`;

/** Publishes over `millrace.v1`, several messages at once, and never again what has no answer. */
async function inFlight(t, nodes, seen, id, random) {
  for (let serial = 0; !seen.isEnough; ) {
    const client = await reach(t, nodes, seen, random);
    const waiting = new Map();
    /** Of each channel; the answers to a connection are in the order of what it has sent. */
    const last = {};
    let isOpen = true;
    while (isOpen && (waiting.size > 0 || !seen.isEnough)) {
      while (waiting.size < IN_FLIGHT) {
        const c = anyOf(seen, random);
        if (!(await mayGoOn(nodes, seen, c))) break;
        const payload = bodyOf(id, ++serial, random);
        waiting.set(serial, [c, payload]);
        client.send({ t: 'pub', id: serial, c }, payload);
      }
      if (waiting.size === 0) break;
      const answer = await client.next().catch(() => undefined);
      isOpen = answer !== undefined;
      if (isOpen) settle(seen, waiting, last, answer[0]);
    }
    for (const [, payload] of waiting.values()) seen.unknown.add(payload);
    client?.ws.terminate();
  }
}

function settle(seen, waiting, last, { t: kind, id, e, o, code }) {
  const [name, payload] = waiting.get(id);
  waiting.delete(id);
  if (kind === 'ok') {
    seen.accept(name, { e, o }, payload);
    seen.check(!(o <= last[name]), () => `${name}: ${payload} has ${o} behind ${last[name]}`);
    last[name] = o;
  } else if (code === 'failed') {
    seen.refused.add(payload);
  } else {
    seen.check(code === 'timeout', () => `${name}: ${payload} is answered by ${code}`);
    seen.unknown.add(payload);
  }
}

/** Publishes over `millrace.v1` with a key, again at any node until there is an answer: each is there exactly once. */
async function keyed(t, nodes, seen, id, random) {
  const name = Object.keys(seen.audited)[0];
  let client;
  for (let serial = 0; await mayGoOn(nodes, seen, name); serial++) {
    const payload = bodyOf(id, serial, random);
    for (let isDone = false; !isDone && !seen.isOver; ) {
      client ??= await reach(t, nodes, seen, random);
      client?.send({ t: 'pub', id: 1, c: name, key: `${id} ${serial}` }, payload);
      const [{ t: kind, e, o }] = (await client?.next().catch(() => undefined)) ?? [{}];
      isDone = kind === 'ok';
      if (isDone) seen.accept(name, { e, o }, payload);
      if (isDone && random(50) !== 0) continue;
      client?.ws.terminate();
      client = undefined;
      if (!isDone) await until(() => !nodes.isAway, 'the store');
    }
  }
  client?.ws.terminate();
}

async function fromJavaScript(_t, nodes, seen, id, random) {
  const name = anyOf(seen, random);
  for (let serial = 0; await mayGoOn(nodes, seen, name); serial++) {
    const payload = bodyOf(id, serial, random);
    try {
      const { position } = await nodes.any(random).call('publish', name, payload);
      seen.accept(name, { e: position.epoch, o: position.offset }, payload);
    } catch ({ code }) {
      if (code === 'ERR_MILLRACE_HISTORY_UNAVAILABLE') seen.refused.add(payload);
      else seen.unknown.add(payload);
    }
  }
}

/**
 * Publishes with `millrace/client`, which repeats by itself what has no answer: only in a channel that keeps so much that
 * the first is still kept then.
 */
async function withClient(_t, nodes, seen, id, random) {
  let [socket, serial] = [undefined, 0];
  const opened = (one) => {
    socket = one;
  };
  const client = createClient('ws://any.node', { WebSocket: nodes.webSocketOf(random, opened) });
  const name = Object.keys(seen.audited)[0];
  const publish = async () => {
    for (;;) {
      if (!(await mayGoOn(nodes, seen, name))) return;
      const data = [id, ++serial];
      const payload = JSON.stringify(data);
      try {
        const { position } = await client.publish(name, data);
        seen.accept(name, { e: position.epoch, o: position.offset }, payload);
      } catch {
        // even if the last attempt was refused: one before it may have arrived
        seen.unknown.add(payload);
      }
      if (random(200) === 0) socket.terminate();
    }
  };
  await Promise.all(Array.from({ length: 5 }, publish));
  client.close();
}
