// A server that prints every line of its log as JSON, run by log.test.mjs in any runtime. Its options are the first
// argument; `onLog` is set unless `print` is, and throws if `throws` is; `beside` starts a gateway without a log,
// too. Lines of the standard input are commands:
// `stop`, and `block <file>`, which holds this thread until the file is there.
import { existsSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';

import { createGateway, start } from './millrace.mjs';

const { print, throws, beside, ...options } = JSON.parse(process.argv[2]);
const onLog = (line) => {
  console.log(`LOG ${JSON.stringify(line)}`);
  if (throws) throw new Error('onLog broke');
};
const server = await start({
  bind: '127.0.0.1:0',
  workerPath: new URL('./workers/log.mjs', import.meta.url),
  threads: 1,
  ...(print ? {} : { onLog }),
  ...options,
  // on a busy machine clients may have to wait
  limits: { firstRequestTimeoutMs: 60_000, ...options.limits },
});
createInterface({ input: process.stdin }).on('line', async (line) => {
  const [command] = line.split(' ', 1);
  const file = line.slice(command.length + 1);
  if (command === 'block') {
    writeSync(1, 'BLOCKED\n');
    const nothing = new Int32Array(new SharedArrayBuffer(4));
    while (!existsSync(file)) Atomics.wait(nothing, 0, 0, 10);
  } else if (command === 'stop') {
    await server.stop();
    console.log('STOPPED');
    process.exit(0);
  }
});
if (beside) {
  const { addresses } = await createGateway().start({ bind: '127.0.0.1:0', handlers: {}, ioThreads: 1 });
  console.log(`Beside it ${addresses[0]}`);
}
for (const address of server.addresses) console.log(`Listening on ws://${address}`);
