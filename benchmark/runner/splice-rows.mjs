// The rows of the scenario `splice`, and the figures of a window.

/** Bytes of the index, which targets do not get. */
const INDEX = 2;

const sizes = [32, 128, 1024, 4098];
const clients = [32, 128, 512];

/** All numbers of clients with all sizes and one target each; the size of a goal; several targets in a session. */
function matrix(part) {
  const one = clients.flatMap((count) => sizes.map((size) => ({ part, clients: count, targets: 1, size })));
  const several = [16, 128].map((count) => ({ part, clients: count, targets: 8, size: 128 }));
  return [...one, { part, clients: 128, targets: 1, size: 64 }, ...several];
}

/** A separate write for each message, as in the original's benchmark. */
const apart = sizes.map((size) => ({ part: 'apart', clients: 128, targets: 1, size }));

/**
 * `part`: `round-trip`, one message outstanding for each target, which sends it back; `flow`, one way, counted by the
 * target; `apart`, the same with a separate write for each message.
 * `size`: bytes of a message with its index, as in the original's benchmark.
 */
export const rows = [...matrix('round-trip'), ...matrix('flow'), ...apart].map((row) => ({
  ...row,
  name: `${row.part}-${row.clients}x${row.targets}-${row.size}`,
}));

/** The generator's arguments. `direct`: as many connections to the target as there would be lanes through the multiplexer. */
export function loadArgs(row, direct, target) {
  const load = { 'round-trip': ['splice'], flow: ['splice-flow'], apart: ['splice-flow', '--apart'] }[row.part];
  const lanes = direct
    ? [`--connections=${row.clients * row.targets}`, '--upstreams=0']
    : [`--connections=${row.clients}`, `--upstreams=${row.targets}`, `--upstream-port=${target.port}`];
  return [...load, ...lanes, `--size=${row.size}`, ...(direct ? [] : [`--upstream-pid=${target.pid}`])];
}

const isFlow = ({ part }) => part !== 'round-trip';

/** The handler of the target. */
export const targetHandler = (row) => (isFlow(row) ? 'count' : 'echo');

/** The figures of a window: those that the generator reports, and those that the table has in addition. */
export function figuresOf(row, report, direct, options) {
  const figures = { ...report };
  figures.payload_mibit = (report.per_second * (row.size - INDEX) * 8) / 2 ** 20;
  // a round trip is relayed twice; a direct connection relays nothing
  if (!direct) figures.relayed_us = isFlow(row) ? report.cpu_us : report.cpu_us / 2;
  // a flow has no answers to its messages
  if (isFlow(row)) for (const name of ['p50_us', 'p99_us', 'p999_us', 'max_us']) delete figures[name];
  figures.generator_is_the_limit = !direct && othersAreTheLimit(report, options);
  return figures;
}

/** Whether clients or targets were at their limit, and the multiplexer was not. */
function othersAreTheLimit({ server_share: server, generator_share: own, upstream_share: targets }, options) {
  const shared = options.pin && options.loadCore === options.secondCore;
  const busiest = shared ? own + targets : Math.max(own, targets);
  return server < BUSY && busiest > BUSY;
}

/** The share of a core from which on a program counts as at its limit. */
const BUSY = 0.95;

/** Adds to each peer's figures how its p99 compares with that of a direct connection, named `epoll`. */
export function compare(found) {
  const direct = found.epoll?.figures?.p99_us;
  for (const [name, { figures }] of Object.entries(found)) {
    if (name !== 'epoll' && direct && figures?.p99_us) figures.p99_ratio = figures.p99_us / direct;
  }
  return found;
}
