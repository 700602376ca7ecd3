// A server for replace-workers.test.mjs, in any runtime. Commands are lines of the standard input: `replace` replaces
// its workers, `stop` ends it. The first argument is the number of threads, the second one the worker module.
import { createInterface } from 'node:readline';

import { start } from './millrace.mjs';

const server = await start({
  bind: '127.0.0.1:0',
  workerPath: process.argv[3],
  threads: Number(process.argv[2]),
  // on a busy machine clients and workers may have to wait
  limits: { firstRequestTimeoutMs: 60_000, workerTimeoutMs: 20_000, handlerTimeoutMs: 20_000, closeTimeoutMs: 20_000 },
  onError: (error) => console.log(`REPORTED ${error.code}`),
});
const replace = async () => {
  await server.replaceWorkers().then(
    () => console.log('REPLACED'),
    (error) => console.log(`FAILED ${error.code}`),
  );
};
const stop = async () => {
  const workers = server.stats().workers.length;
  await server.stop();
  const { opened, closed, unhandledCloses } = server.stats();
  console.log(`STATS ${JSON.stringify({ opened, closed, unhandledCloses, workers })}`);
  await replace();
  process.exit(0);
};
const commands = new Map([
  ['replace', replace],
  ['stop', stop],
]);
createInterface({ input: process.stdin }).on('line', (line) => commands.get(line)());
console.log(`Listening on ws://${server.addresses[0]}`);
