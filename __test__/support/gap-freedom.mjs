// What tests of gap-freedom share: the messages of all channels as everybody has seen them, and the check of what one reader
// gets, which is 1..N without a hole, a double or disorder, or a gap that it is told of.

export const FULL = process.env.MILLRACE_TEST_HISTORY === 'full';
export const DELIVERIES = FULL ? 1_000_000 : 50_000;
/** Repeats the choices of an earlier run, not its times. */
export const SEED = Number(process.env.MILLRACE_TEST_SEED ?? Date.now() % 2 ** 31);

/** Numbers that look random, the same for the same seed. */
export function randomOf(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** What everybody has seen: each channel's epoch, the payload of each number, and the newest number. */
export class Seen {
  deliveries = 0;
  recoveries = 0;
  failures = [];
  /** Whether no reader waits for a message any more. */
  isOver = false;
  #channels;

  /** `channels`: how many messages each keeps, by its name. */
  constructor(channels) {
    const of = (history) => ({ history, epoch: undefined, payloads: [], newest: 0, gaps: [] });
    this.#channels = new Map(Object.entries(channels).map(([name, history]) => [name, of(history)]));
  }

  get isDone() {
    return this.deliveries >= DELIVERIES || this.failures.length > 0;
  }

  check(condition, message) {
    if (!condition) this.failures.push(message());
    return condition;
  }

  epoch = (name) => this.#channels.get(name).epoch;
  history = (name) => this.#channels.get(name).history;
  newest = (name) => this.#channels.get(name).newest;
  payloads = (name) => this.#channels.get(name).payloads;
  gaps = () => [...this.#channels.values()].flatMap(({ gaps }) => gaps);

  position(name, { e, o }) {
    const channel = this.#channels.get(name);
    channel.epoch ??= e;
    channel.newest = Math.max(channel.newest, o);
    this.check(channel.epoch === e, () => `${name} has epochs ${channel.epoch} and ${e}`);
  }

  message(name, offset, payload) {
    this.kept(name, offset, payload);
    this.deliveries += 1;
  }

  /** A message that somebody has, as a reader or otherwise. */
  kept(name, offset, payload) {
    const channel = this.#channels.get(name);
    channel.newest = Math.max(channel.newest, offset);
    channel.payloads[offset] ??= payload;
    const known = channel.payloads[offset];
    this.check(known === payload, () => `${name} ${offset} is ${known} and ${payload}`);
  }

  /** A reader that had everything up to `from` was told that it has missed what comes up to `to`. */
  gap = (name, from, to) => this.#channels.get(name).gaps.push([from, to]);

  /** Whether history was exceeded where a gap was told. */
  isExceeded([, to], newest, history) {
    return newest >= to + history;
  }

  /** What was told to be gone was, and no message has two numbers. */
  finish(t) {
    t.deepEqual(this.failures, []);
    for (const [name, { payloads, newest, gaps, history }] of this.#channels) {
      for (const gap of gaps)
        t.true(this.isExceeded(gap, newest, history), `${name}: a gap ${gap}, and ${newest} is newest`);
      const all = Object.entries(payloads);
      const offsets = new Map(all.map(([offset, payload]) => [payload, offset]));
      const doubles = all.filter(([offset, payload]) => offsets.get(payload) !== offset);
      t.deepEqual(
        doubles.map(([offset, payload]) => [payload, offset, offsets.get(payload)]),
        [],
        `${name} has a message twice`,
      );
    }
  }
}

/** Checks a message of a reader whose position is `last`. Returns its position behind it. */
export function take(seen, name, last, [{ t: kind, o, e, recovered }, payload]) {
  if (kind === 'ok') {
    seen.position(name, { e, o });
    if (!last) return { e, o };
    const missed = o - last.o;
    const isKept = missed >= 0 && missed <= seen.history(name);
    seen.check(recovered === isKept, () => `${name}: ${recovered} with ${missed} missed`);
    seen.recoveries += 1;
    if (recovered) return last;
    seen.gap(name, last.o, o - seen.history(name));
    return { e, o };
  }
  if (kind === 'gap') {
    seen.check(o > last?.o, () => `${name}: a gap to ${o} behind ${last?.o}`);
    seen.position(name, { e, o });
    seen.gap(name, last?.o, o);
    return { e, o };
  }
  seen.check(kind === undefined && o === last?.o + 1, () => `${name}: ${kind} ${o} behind ${last?.o}`);
  seen.message(name, o, payload);
  return { ...last, o };
}
