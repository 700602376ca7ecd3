// The servers of the study: the same handler on Millrace with some numbers of workers, on `ws` alone, on `ws` in a
// cluster, and on Bun.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = dirname(fileURLToPath(import.meta.url));
export const cores = availableParallelism();

const server = (name) => join(folder, 'servers', `${name}.mjs`);
const onNode = (name, ...args) => [process.execPath, server(name), ...args];
const workers = (count) => (count === 1 ? '1 worker' : `${count} workers`);

/** Millrace with a number of workers and the default number of I/O threads. */
export function millrace(threads) {
  const title = threads === 0 ? 'Millrace, main thread' : `Millrace, ${workers(threads)}`;
  return {
    name: `millrace-${threads}`,
    title,
    ours: true,
    threads,
    command: onNode('millrace', `--threads=${threads}`),
  };
}

export const ws = { name: 'ws', title: 'ws', threads: 1, command: onNode('ws') };

const processes = Math.max(2, cores);
export const wsCluster = {
  name: 'ws-cluster',
  title: `ws, cluster of ${processes}`,
  threads: processes,
  command: onNode('ws-cluster', `--threads=${processes}`),
};

/** Millrace with 1, 2 and as many workers as there are cores. */
export const withWorkers = [...new Set([1, 2, cores])].map(millrace);

/** The variants that the specification requires. */
export const all = [...withWorkers, millrace(0), ws, wsCluster];

/** The variants for one core: one I/O thread and one worker, or one process. Bun is left out if it is not installed. */
export function onOneCore() {
  const ours = millrace(1);
  const bun = bunProgram();
  return [
    { ...ours, title: 'Millrace, 1 worker, 1 I/O thread', command: [...ours.command, '--io-threads=1'] },
    {
      ...ours,
      name: 'millrace-1-no-uring',
      title: 'the same without io_uring',
      command: [...ours.command, '--io-threads=1', '--io-uring=no'],
    },
    ...(bun ? [{ name: 'bun', title: 'Bun', threads: 1, command: [bun, server('bun')] }] : []),
    ws,
  ];
}

/** Bun's program: in the platform's package, unless its install script has moved it to `bun`. */
function bunProgram() {
  for (const modules of [join(folder, '../peers/node_modules'), join(folder, '../../node_modules')]) {
    const scope = join(modules, '@oven');
    const packages = existsSync(scope) ? readdirSync(scope).sort() : [];
    const paths = [...packages.map((name) => join(scope, name, 'bin/bun')), join(modules, 'bun/bin/bun.exe')];
    // without the script the second is a small file that only prints an error
    const found = paths.find((path) => existsSync(path) && statSync(path).size > 1_000_000);
    if (found) return found;
  }
  return undefined;
}
