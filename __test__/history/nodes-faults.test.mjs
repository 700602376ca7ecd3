// Gap-freedom as a property over several nodes: random publishers, clients that are cut and come back to any node, workers
// and nodes that are killed, links that break, and a Redis that is restarted with its data. Each client's numbers are 1..N
// without a hole, a double or disorder, or it is told of a gap, exactly where history was exceeded. What was accepted is
// there, under one number on all nodes. MILLRACE_TEST_HISTORY=full checks a million deliveries; MILLRACE_TEST_SEED repeats
// the choices of an earlier run.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { FaultNodes } from '../support/fault-nodes.mjs';
import { DELIVERIES, FULL, randomOf, SEED } from '../support/gap-freedom.mjs';
import { publishAll, SharedSeen } from '../support/gap-publishers.mjs';
import { areThere, ClientReader, WireReader } from '../support/gap-readers.mjs';
import { needingRedis } from '../support/redis.mjs';

/** Somebody looks at all messages of this channel before they go. */
const WHOLE = 'all:a';
/** How many messages each channel keeps. */
const CHANNELS = { [WHOLE]: 10_000, 'few:a': 150, 'few:b': 150 };
const READERS = 15;
const CLIENTS = 6;
const FAULTS = FULL ? 300 : 30;
const PAGE = 1000;

const clients = { subscribe: true, publish: true };
const keeping = (messages) => ({ history: { messages, ageMs: 3_600_000 }, clients });

/** Makes a fault after every so many deliveries, each kind in its turn. Resolves with how many of each kind were made. */
async function disturb(t, nodes, seen, random) {
  const made = {};
  const kinds = Object.keys(nodes.faults);
  const first = random(kinds.length);
  for (let index = 0; index < FAULTS; index++) {
    const enough = ((index + 1) * DELIVERIES) / (FAULTS + 1);
    await until(
      () => seen.failures.length > 0 || seen.deliveries >= enough,
      () => `${enough} deliveries, not ${seen.deliveries}`,
      FULL ? 600_000 : undefined,
    );
    if (seen.failures.length > 0) break;
    const kind = kinds[(first + index) % kinds.length];
    await nodes.faults[kind](t, random);
    made[kind] = (made[kind] ?? 0) + 1;
  }
  seen.isDisturbed = true;
  return made;
}

/** Looks at what is kept, on any node, before it goes. */
async function audit(nodes, seen, random) {
  const isDue = () => seen.newest(WHOLE) - seen.audited[WHOLE] >= PAGE;
  while (!seen.isOver) {
    await until(() => seen.isOver || isDue(), 'a page', FULL ? 600_000 : 300_000);
    // a node that is killed meanwhile does not answer
    if (!seen.isOver) await look(nodes.any(random), seen).catch(() => {});
  }
}

/** Records what a node says that the channel has kept behind what was looked at before. */
async function look(node, seen) {
  for (;;) {
    const offset = seen.audited[WHOLE];
    const since = offset > 0 && { since: { epoch: seen.epoch(WHOLE), offset } };
    const { position, publications } = await node.call('history', WHOLE, { limit: PAGE, ...since });
    seen.position(WHOLE, { e: position.epoch, o: position.offset });
    for (const one of publications) {
      seen.check(one.offset === seen.audited[WHOLE] + 1, () => `${one.offset} is kept behind ${seen.audited[WHOLE]}`);
      seen.kept(WHOLE, one.offset, one.data);
      seen.audited[WHOLE] = one.offset;
    }
    if (publications.length === 0 || seen.audited[WHOLE] >= position.offset) return;
  }
}

/** All nodes have the same, whoever is asked. Resolves with the newest numbers. */
async function compare(t, nodes, seen) {
  const newest = {};
  for (const name of Object.keys(CHANNELS)) {
    let pasts;
    const areEqual = async () => {
      const read = (node) => node.call('history', name, { limit: 100, reverse: true });
      pasts = await Promise.all(nodes.all.map(read));
      return pasts.every(({ position }) => position.offset === pasts[0].position.offset);
    };
    // what nobody waits for any more may still be on its way, and a link may be made again
    await until(
      () => areEqual().catch(() => false),
      () => `equal positions in ${name}: ${JSON.stringify(pasts?.map(({ position }) => position))}`,
    );
    for (const past of pasts) {
      t.deepEqual(past, pasts[0]);
      for (const { offset, data } of past.publications) seen.kept(name, offset, data);
    }
    newest[name] = pasts[0].position.offset;
  }
  return newest;
}

needingRedis(test)('no client misses a message without being told, whatever happens to nodes and Redis', async (t) => {
  t.timeout(FULL ? 3_600_000 : 300_000);
  t.log(`MILLRACE_TEST_SEED=${SEED}`);
  const nodes = await FaultNodes.with(t, { 'all:*': keeping(10_000), 'few:*': keeping(150) });
  const seen = new SharedSeen(CHANNELS, [WHOLE]);
  const nameOf = (index) => Object.keys(CHANNELS)[index % 3];
  const readers = [
    ...Array.from({ length: READERS }, (_, index) => new WireReader(seen, nameOf(index), SEED + 100 + index)),
    ...Array.from({ length: CLIENTS }, (_, index) => new ClientReader(seen, nameOf(index), SEED + 200 + index)),
  ];
  const end = () => {
    Object.assign(seen, { isEnough: true, isOver: true });
    for (const reader of readers) reader.end();
  };
  t.teardown(end);
  const reading = readers.map((reader) => reader.read(t, nodes));
  const auditing = audit(nodes, seen, randomOf(SEED + 1));
  const publishing = publishAll(t, nodes, seen, SEED + 300);
  const made = await disturb(t, nodes, seen, randomOf(SEED));
  await until(
    () => seen.isDone,
    () => `${DELIVERIES} deliveries, not ${seen.deliveries}`,
    FULL ? 600_000 : undefined,
  );
  seen.isEnough = true;
  await publishing;
  const newest = seen.failures.length > 0 ? {} : await compare(t, nodes, seen);
  await areThere(readers, seen, newest);
  end();
  await Promise.all([...reading, auditing]);
  if (seen.failures.length === 0) await look(nodes.all[0], seen);
  seen.finish(t);
  t.log(
    `${seen.deliveries} deliveries, ${seen.recoveries} recoveries, ${seen.gaps().length} gaps, ` +
      `${seen.accepted.length} accepted, ${seen.refused.size} refused, ${seen.unknown.size} unknown, ${JSON.stringify(made)}`,
  );
  t.deepEqual(Object.keys(made).sort(), Object.keys(nodes.faults).sort());
  t.true(seen.recoveries > READERS && seen.gaps().length > 5);
});
