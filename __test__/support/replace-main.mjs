// A server whose workers are replaced at SIGUSR2, run by replace-workers.test.mjs in any runtime. The first argument
// is the number of threads, the second the worker module.
import { start } from './millrace.mjs';

const server = await start({
  bind: '127.0.0.1:0',
  workerPath: process.argv[3],
  threads: Number(process.argv[2]),
  onError: (error) => console.log(`REPORTED ${error.code}`),
});
const replace = async () => {
  await server.replaceWorkers().then(
    () => console.log('REPLACED'),
    (error) => console.log(`FAILED ${error.code}`),
  );
};
process.on('SIGUSR2', replace);
process.once('SIGTERM', async () => {
  const workers = server.stats().workers.length;
  await server.stop();
  const { opened, closed, unhandledCloses } = server.stats();
  console.log(`STATS ${JSON.stringify({ opened, closed, unhandledCloses, workers })}`);
  await replace();
  process.exit(0);
});
console.log(`Listening on ws://${server.addresses[0]}`);
