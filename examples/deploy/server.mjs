// A chat with one room, ready to deploy: clients on one port, probes and metrics on another that only your network can
// reach. All settings that differ between deployments come from the environment.
import { start } from 'millrace';

const { BIND = '127.0.0.1:8080', ADMIN = '127.0.0.1:9100', ORIGINS, BACKPLANE } = process.env;

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

// `/ready` on the second port answers 503 while the first one is draining
server.stopOnSignals({ drain: 10_000 });
await server.stopped;
await admin.stop({ drain: 0 });
