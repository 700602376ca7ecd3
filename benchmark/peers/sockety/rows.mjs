// The rows of the scenario `sockety`, which define a task: those of the original's own benchmark, and rows in which a task
// ends with an answer that is sent after the payload was read completely.
//   contents: 'data' or 'file'; from: where a file's bytes are, 'memory' or 'fs'. acknowledged: with that answer.
//   atOnce: tasks of each client thread at a time. bytes: the least number of bytes of a task that reach the server.
const MIB = 1 << 20;
/** Tasks with payloads at a time: 300 of 4 MiB in both client threads would be 2.4 GB in flight. */
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
 * Returns the problem of a run, undefined if there is none: every finished task must have reached the server exactly once.
 * `handled` is the count of the server's handlers, `bytes` what its sockets read. Heartbeats of Sockety have no handler, but
 * each is one byte (`counted: 'bytes'`). `bytes` is null if the server does not know it; such a server counts heartbeats like
 * messages.
 */
export function verdict(row, { tasks, handled, bytes, counted }) {
  if (tasks === 0) return 'no task was finished';
  const came = counted === 'bytes' && bytes !== null ? bytes : handled;
  if (came !== tasks) return `${tasks} tasks were finished, but ${came} came to the server`;
  if (bytes !== null && bytes < tasks * row.bytes)
    return `${tasks} tasks were finished, but only ${bytes} bytes came to the server`;
  return undefined;
}

/** The server's total from its answers on every connection: each worker counts its messages, and all report the same bytes. */
export function total(answers) {
  const workers = new Map();
  for (const { worker, handled } of answers) workers.set(worker, Math.max(handled, workers.get(worker) ?? 0));
  const handled = [...workers.values()].reduce((sum, count) => sum + count, 0);
  const known = answers.map(({ bytes }) => bytes).filter((bytes) => bytes !== null);
  return { handled, bytes: known.length > 0 ? Math.max(...known) : null };
}
