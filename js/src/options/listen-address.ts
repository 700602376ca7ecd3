/** Where a server listens: a host's address as the native side takes it, and what that says of one, as `node:net` says it. */

import { promises as dns } from 'node:dns';
import { type AddressInfo, isIP } from 'node:net';

/** A host and a port as the native side takes them. Names have the first address that the system gives, as in Node.js. */
export async function addressOf(host: string | undefined, port: number): Promise<string> {
  if (host === undefined || host === '::') return `:${port}`;
  const { address, family } = await dns.lookup(host);
  return family === 6 ? `[${address}]:${port}` : `${address}:${port}`;
}

/** What the native side says it listens on, unless it is a unix socket. */
export function addressInfo(address: string): AddressInfo {
  const at = address.lastIndexOf(':');
  const host = address.slice(0, at).replace(/^\[|\]$/g, '');
  return { address: host, family: isIP(host) === 6 ? 'IPv6' : 'IPv4', port: Number(address.slice(at + 1)) };
}
