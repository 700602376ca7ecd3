// The rows of the scenario `sockety`: what one task is. Those of the original's own benchmark, and beside them rows in which
// a task ends with an answer that is sent after the payload was read completely.
//   contents: 'data' or 'file'; from: where a file's bytes are, 'memory' or 'fs'. acknowledged: with that answer.
//   atOnce: tasks of each client thread at a time. bytes: at least so many of a task come to the server.
const MIB = 1 << 20;
/** Of payloads, fewer at a time: 300 of 4 MiB in both client threads would be 2.4 GB under way. */
const FEW = 30;
const MANY = 300;

const small = [
  { name: 'heartbeat', title: 'heartbeat', bytes: 1 },
  { name: 'none', title: 'no response', bytes: 24 },
  { name: 'short', title: 'short response', bytes: 24, acknowledged: true },
  { name: 'regular', title: 'regular response', bytes: 24, acknowledged: true },
].map((row) => ({ ...row, atOnce: MANY }));

const payloads = [
  { name: 'data-1m', title: '1 MiB data', contents: 'data', bytes: MIB },
  { name: 'data-4m', title: '4 MiB data', contents: 'data', bytes: 4 * MIB },
  { name: 'file-memory', title: '1 MiB file (memory)', contents: 'file', from: 'memory', bytes: MIB },
  { name: 'file-fs', title: '1 MiB file (FS)', contents: 'file', from: 'fs', bytes: MIB },
].map((row) => ({ ...row, atOnce: FEW }));

const acknowledged = payloads.map((row) => ({
  ...row,
  name: `${row.name}-ack`,
  title: `${row.title}, acknowledged`,
  acknowledged: true,
}));

export const rows = [...small, ...payloads, ...acknowledged];

/** The row of that name. */
export function rowNamed(name) {
  const row = rows.find((each) => each.name === name);
  if (row === undefined) throw new TypeError(`there is no row ${name}`);
  return row;
}

/** Client threads, and connections of each. */
export const THREADS = 2;
export const CONNECTIONS = 2;

/**
 * What is wrong with a run, undefined if nothing: every finished task must have come to the server, none twice and none
 * together with another. `handled` is what the server's handlers counted, `bytes` what its sockets read; heartbeats of
 * Sockety have no handler, but each is one byte (`counted: 'bytes'`). `bytes` is null where the
 * server cannot say; then it counts heartbeats like messages.
 */
export function verdict(row, { tasks, handled, bytes, counted }) {
  if (tasks === 0) return 'no task was finished';
  const came = counted === 'bytes' && bytes !== null ? bytes : handled;
  if (came !== tasks) return `${tasks} tasks were finished, but ${came} came to the server`;
  if (bytes !== null && bytes < tasks * row.bytes)
    return `${tasks} tasks were finished, but only ${bytes} bytes came to the server`;
  return undefined;
}

/** What the server counted in all, of answers on every connection: each of its workers counts for itself, all see the bytes. */
export function total(answers) {
  const workers = new Map();
  for (const { worker, handled } of answers) workers.set(worker, Math.max(handled, workers.get(worker) ?? 0));
  const handled = [...workers.values()].reduce((sum, count) => sum + count, 0);
  const known = answers.map(({ bytes }) => bytes).filter((bytes) => bytes !== null);
  return { handled, bytes: known.length > 0 ? Math.max(...known) : null };
}
