// Runs the scenario `sockety`: row by row, the peers in turn, each time with a new server and a new client.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rows } from '../peers/sockety/rows.mjs';
import { peersFolder } from './build.mjs';
import { reportOf, startServer } from './processes.mjs';
import { socketyModule } from './sockety-module.mjs';

const NOT_THERE = 'there is no such thing in HTTP/1';
const UNCONFIRMED = 'a request of HTTP/1 is over when it was answered: see the acknowledged row';

/** The arguments for a client of a peer. */
function clientOf(peer) {
  if (peer === 'node-http') return ['--client=http1'];
  if (peer === 'node-http2') return ['--client=http2'];
  const module = peer === 'sockety' ? socketyModule() : 'millrace/sockety';
  return ['--client=sockety', `--module=${module}`];
}

/** Why a peer leaves out a row, undefined if it does not. */
export function leftOut(peer, row) {
  if (peer !== 'node-http') return undefined;
  if (row.name === 'heartbeat') return NOT_THERE;
  return row.acknowledged ? undefined : UNCONFIRMED;
}

/** `{ results, note }`: each peer's rows by name, and the first failure. */
export async function rowByRow(_scenario, peers, _connections, binaries, options) {
  const times = { warmUp: options.windowMs, measured: 3 * options.windowMs };
  const results = Object.fromEntries(peers.map(({ name }) => [name, { rows: {} }]));
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  const file = join(folder, 'file-1.txt');
  writeFileSync(file, randomBytes(1 << 20));
  try {
    for (const row of rows) {
      for (const peer of peers.filter(({ name }) => leftOut(name, row) === undefined)) {
        const found = await oneRow(row, peer, file, times, binaries, options);
        const result = results[peer.name];
        result.rows[row.name] = found;
        if (found.error) result.error ??= `${row.title}: ${found.error}`;
        say(row, peer.name, found);
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return { results, note: `warm-up ${times.warmUp} ms, measured ${times.measured} ms` };
}

/** `{ figures, error }` of one row with one peer. */
async function oneRow(row, peer, file, times, binaries, options) {
  let server;
  try {
    // two client threads and up to four of the server: the system chooses their cores
    server = await startServer(peer, 'sockety', [], binaries, { ...options, pin: false });
    const command = [
      ...[process.execPath, join(peersFolder, 'sockety/load.mjs'), ...clientOf(peer.name)],
      ...[`--row=${row.name}`, `--port=${server.port}`, `--pid=${server.pid}`, `--file=${file}`],
      ...[`--warm-up-ms=${times.warmUp}`, `--ms=${times.measured}`],
    ];
    // tasks in progress at the end take a while on a slow machine
    const seconds = 60 + Math.ceil((times.warmUp + times.measured) / 1000);
    const { wrong, ...figures } = await reportOf(command, seconds);
    return { figures, error: wrong };
  } catch (error) {
    return { error: [error.message, server?.complaint()].filter(Boolean).join('; ') };
  } finally {
    await server?.stop();
  }
}

function say(row, peer, { figures, error }) {
  const words = figures
    ? `${Math.round(figures.per_second).toLocaleString('en').padStart(9)} QPS, CPU per task ` +
      `${figures.client_cpu_us.toFixed(2)} µs client, ${figures.server_cpu_us.toFixed(2)} µs server`
    : '';
  console.log(`  ${row.title.padEnd(34)} ${peer.padEnd(12)} ${words}${error ? ` FAILED: ${error}` : ''}`);
}
