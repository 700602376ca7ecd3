/**
 * Addresses that a server listens on: from a host and port to the native side's form, and from there to that of
 * `node:net`.
 */

import { promises as dns } from 'node:dns';
import { type AddressInfo, isIP } from 'node:net';

/** A host and port in the native side's form. A name gets the first address that the system returns, as in Node.js. */
export async function addressOf(host: string | undefined, port: number): Promise<string> {
  if (host === undefined || host === '::') return `:${port}`;
  const { address, family } = await dns.lookup(host);
  return family === 6 ? `[${address}]:${port}` : `${address}:${port}`;
}

/** The address of a listener in the form of `node:net`. Not for unix sockets. */
export function addressInfo(address: string): AddressInfo {
  const at = address.lastIndexOf(':');
  const host = address.slice(0, at).replace(/^\[|\]$/g, '');
  return { address: host, family: isIP(host) === 6 ? 'IPv6' : 'IPv4', port: Number(address.slice(at + 1)) };
}
