// Ports for programs that cannot pick one themselves.
import { once } from 'node:events';
import net from 'node:net';

/**
 * A TCP port on which nobody listens on loopback. It is none that systems give to whoever asks for any, so that it stays
 * free for its user, also while that one is restarted.
 */
export async function freePort() {
  for (;;) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));
    const listener = net.createServer().listen(port, '127.0.0.1');
    try {
      await once(listener, 'listening');
    } catch {
      continue; // taken
    }
    listener.close();
    await once(listener, 'close');
    return port;
  }
}

const LOWEST = 10_000;
const HIGHEST = 32_000;
