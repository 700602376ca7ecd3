// The rows of the scenario `qjs`, and the programs that are measured in them.
import { answers } from '../peers/qjs/users.mjs';

/** Connections that stay open, one request outstanding on each. */
const connections = [1, 10, 50, 100, 200];

export const rows = Object.entries(answers).flatMap(([path, answer]) =>
  connections.map((count) => ({
    name: `${path} ${count}`,
    path,
    connections: count,
    body: JSON.stringify(answer),
  })),
);

/** The measured programs: `{ name, peer, handler }`. Millrace has two: the app, and a fetch handler. */
export function programs(peers) {
  return peers.flatMap((peer) => {
    const app = { name: peer.name, peer, handler: 'qjs' };
    return peer.name === 'millrace' ? [app, { name: 'millrace (fetch)', peer, handler: 'qjs-fetch' }] : [app];
  });
}

/** The generator's arguments. */
export function loadArgs({ path, connections: count, body }) {
  return ['http', `--connections=${count}`, `--path=${path}`, `--body=${body}`];
}

/** The figures of a window with the one that counts. */
export function figuresOf(report) {
  return { ...report, per_second_per_mib: report.per_second / report.resident_mib };
}
