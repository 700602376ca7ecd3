// Ports for programs that cannot pick one themselves.
import { once } from 'node:events';
import net from 'node:net';

/** A TCP port on which nobody listens on loopback; somebody else may take it before its user does. */
export async function freePort() {
  const listener = net.createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address();
  listener.close();
  await once(listener, 'close');
  return port;
}
