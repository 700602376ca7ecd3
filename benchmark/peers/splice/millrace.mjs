// Peer: Millrace's splice multiplexer. It has no worker, because relayed messages do not enter JavaScript.
//   --handler=splice   --io-threads=N (1)
import { start } from 'millrace';
import { option, ready } from '../peer.mjs';

const server = await start({
  bind: { address: '127.0.0.1:0', protocol: 'splice', allowedHostnames: '127.0.0.1' },
  handlers: { handleClose() {} },
  ioThreads: Number(option('io-threads', '1')),
});
ready(server.addresses[0].split(':').at(-1));
