// Peer: the `ws` package under node:cluster (--processes=N). Connections are dealt to the processes in
// turn. A publication is delivered to the members in the publisher's process at once and goes through
// the primary to the other processes, as is usual for such servers. So members of one channel in
// different processes may see its messages in different orders.
import cluster from 'node:cluster';
import { option, ready } from '../peer.mjs';
import { deliver, serve } from './serve.mjs';

const processes = Number(option('processes', '2'));

if (cluster.isPrimary) {
  for (let i = 0; i < processes; i++) {
    const worker = cluster.fork();
    worker.on('message', (message) => {
      for (const other of Object.values(cluster.workers)) {
        if (other !== worker) other.send(message);
      }
    });
  }
  let listening = 0;
  cluster.on('listening', (_, { port }) => {
    listening++;
    if (listening === processes) ready(port);
  });
  process.on('SIGTERM', () => {
    for (const worker of Object.values(cluster.workers)) worker.process.kill('SIGTERM');
    process.exit();
  });
} else {
  process.on('message', ([channel, text]) => deliver(channel, text));
  serve({
    publish(channel, text) {
      deliver(channel, text);
      process.send([channel, text]);
    },
    // a group of ten has its members in all processes
    groupSize: Math.max(1, Math.floor(10 / processes)),
    listening() {},
  });
}
