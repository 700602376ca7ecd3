// A server that prints every line of its log as JSON, run by log.test.mjs in any runtime. Its options are the first
// argument; `onLog` is set unless `print` is, and throws if `throws` is.
import { start } from './millrace.mjs';

const { print, throws, ...options } = JSON.parse(process.argv[2]);
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
});
process.once('SIGTERM', async () => {
  await server.stop();
  console.log('STOPPED');
  process.exit(0);
});
for (const address of server.addresses) console.log(`Listening on ws://${address}`);
