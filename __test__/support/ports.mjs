// Ports for programs that cannot pick one themselves.
import { once } from 'node:events';
import net from 'node:net';

import { until } from './deadline.mjs';

/**
 * A free TCP port on loopback. It is outside of the range from which systems assign ports, so that it stays free while
 * the program that uses it is restarted, and refuses clients then: one that is assigned the port to which it connects is
 * connected to itself.
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

/** Resolves when nobody listens there. */
export function refusing(port) {
  const isRefused = async () => {
    const socket = net.connect(port, '127.0.0.1');
    const code = await new Promise((resolve) => {
      socket.once('error', (error) => resolve(error.code)).once('connect', resolve);
    });
    socket.destroy();
    return code === 'ECONNREFUSED';
  };
  return until(isRefused, `port ${port} to be closed`);
}

const LOWEST = 10_000;
const HIGHEST = 32_000;
