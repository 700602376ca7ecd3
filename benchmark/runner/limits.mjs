// Computes how many connections a scenario may open on this machine, and what limits them.
import { readFileSync } from 'node:fs';
import { availableParallelism, freemem } from 'node:os';
import { withoutCertificate } from './certificate.mjs';

/** Descriptors that a server or the generator needs in addition to its connections. */
const RESERVE = 200;
/** Memory for both ends of a connection, in the kernel and in a server with large buffers. */
const BYTES = 64 * 1024;

/** The maximum number of descriptors of a process. */
export function descriptorLimit() {
  const limits = readFileSync('/proc/self/limits', 'utf8');
  return Number(/^Max open files\s+\S+\s+(\d+)/m.exec(limits)?.[1] ?? 1024);
}

/** The maximum number of connections to each server, for a number of servers at the same time. */
export function mostConnections(options, servers) {
  const systemWide = Number(readFileSync('/proc/sys/fs/file-max', 'utf8')) / (4 * servers);
  const memory = freemem() / (servers * BYTES);
  const most = Math.min(descriptorLimit() - RESERVE, options.maxConnections, systemWide, memory);
  return Math.floor(Math.min(most, options.quick ? 2000 : most));
}

/** Why a scenario cannot run here, undefined if it can. */
export function obstacle(scenario, options, most) {
  const { connections } = scenario;
  if (connections !== 'most' && connections > most && !options.quick) {
    return `it needs ${connections} connections to each server, this machine allows ${most}`;
  }
  if (scenario.tls && withoutCertificate() !== undefined) return withoutCertificate();
  if (scenario.cores && (!options.pin || availableParallelism() < 2)) return 'it needs two cores and pinning';
  return undefined;
}
