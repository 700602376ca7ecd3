// Ports for programs that cannot pick one themselves.
import { once } from 'node:events';
import net from 'node:net';

/**
 * A free TCP port on loopback. It is outside of the range from which systems assign ports, so that it stays free while
 * the program that uses it is restarted.
 */
export async function freePort() {
  for (;;) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));
    const listener = net.createServer().listen(port, '127.0.0.1');
    try {
      await once(listener, 'listening');
    } catch {
      continue; // in use
    }
    listener.close();
    await once(listener, 'close');
    return port;
  }
}

const LOWEST = 10_000;
const HIGHEST = 32_000;
