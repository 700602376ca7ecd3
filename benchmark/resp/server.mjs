// The Millrace of fan-out.mjs: a listener for Redis clients, one I/O thread. Ends with its input.
import { start } from 'millrace';

const server = await start({
  bind: { address: '127.0.0.1:0', protocol: 'resp' },
  handlers: {},
  ioThreads: 1,
});
console.log(`ready ${server.addresses[0].split(':')[1]}`);
process.stdin.on('end', () => server.stop()).resume();
