import { createSplice } from '../millrace-splice.mjs';

const running = new Map();

// Multiplexers in this runtime: 'start' takes options and resolves with the addresses, 'stop' takes the first address.
export default async function spliceOwn(_millrace, what, given) {
  if (what === 'start') {
    const server = await createSplice(given);
    running.set(server.addresses[0], server);
    return server.addresses;
  }
  await running.get(given).stop();
  return running.delete(given);
}
