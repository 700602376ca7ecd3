// A chat with one room, ready to deploy: clients on one port, probes and metrics on another that only your network can
// reach. All settings that differ between deployments come from the environment.
import { start } from 'millrace';

const { BIND = '127.0.0.1:8080', ADMIN = '127.0.0.1:9100', ORIGINS, BACKPLANE, SPREAD = '0' } = process.env;

const admin = await start({
  bind: { address: ADMIN, health: true, stats: true, metrics: true },
  workerPath: new URL('./worker.mjs', import.meta.url),
  // the link to other nodes; without it, run one process
  ...(BACKPLANE && { backplane: BACKPLANE }),
  onError: (error) => console.error(error),
});
const server = await start({
  bind: { address: BIND, health: true },
  origins: ORIGINS?.split(',') ?? 'same-host',
  trustProxy: ['loopback', 'unix', 'private'],
});
console.log(`listening on ${server.addresses[0]}, probes and metrics on ${admin.addresses[0]}`);

// Clients are closed one after the other, so that they do not all come to the other nodes at the same moment. `/ready`
// answers 503 from the beginning.
server.stopOnSignals({ spread: Number(SPREAD), drain: 10_000 });
await server.stopped;
await admin.stop({ drain: 0 });
