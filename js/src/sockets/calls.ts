/** Calls that do not wait: sockets, their addresses and their options. */

import { toInt32 } from './call-arguments.js';
import { calls, done, doneAt, told } from './native.js';

/** The address of a socket or of its peer. */
export interface Address {
  /** An IP address, or the path of a unix socket, which is empty if it has none. */
  address: string;
  /** The port. 0 for unix sockets. */
  port: number;
}

/**
 * Creates a socket and returns its descriptor, which is a number of Millrace and not of the system. Its calls wait
 * until you call `setnonblocking`.
 *
 * @param domain `AF_INET`, `AF_INET6` or `AF_UNIX`
 * @param type `SOCK_STREAM`, `SOCK_DGRAM` or `SOCK_RAW`
 * @example
 * ```ts
 * const fd = socket(AF_INET, SOCK_STREAM);
 * ```
 */
export function socket(domain: number, type: number, protocol = 0): number {
  const native = calls('socket');
  return done('socket', native.socket(toInt32(domain, 'domain'), toInt32(type, 'type'), protocol));
}

/**
 * Binds a socket to an address. Returns 0.
 *
 * @param address an IP address of the socket's family, `''` for all interfaces, or the path of a unix socket
 * @param port 0 picks a free port, which `getsockname` returns. A unix socket has none.
 */
export function bind(fd: number, address: string, port?: number): number {
  return doneAt('bind', address, calls('bind').bind(fd, address, port));
}

/** Starts listening on a bound socket. Returns 0. */
export function listen(fd: number, backlog = 128): number {
  return done('listen', calls('listen').listen(fd, backlog));
}

/** Closes one or both directions of a connection: `SHUT_RD`, `SHUT_WR`, `SHUT_RDWR`. Returns 0. */
export function shutdown(fd: number, how: number): number {
  return done('shutdown', calls('shutdown').shutdown(fd, how));
}

/**
 * Closes a descriptor. Returns 0. Its number is never used again, so closing it twice throws. A call in another thread
 * that waits on it fails with `EBADF`; the system's descriptor is closed when that call returns, after at most 50 ms.
 */
export function close(fd: number): number {
  return done('close', calls('close').close(fd));
}

/** Makes the calls on a descriptor return at once. Returns 0. */
export function setnonblocking(fd: number): number {
  return done('setnonblocking', calls('setnonblocking').setNonblocking(fd));
}

/**
 * Sets an option that is an integer. Returns 0.
 *
 * @example
 * ```ts
 * setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, 1);
 * ```
 */
export function setsockopt(fd: number, level: number, name: number, value: number): number {
  return done('setsockopt', calls('setsockopt').setOption(fd, level, name, toInt32(value, 'value')));
}

/** Returns the value of an option that is an integer. */
export function getsockopt(fd: number, level: number, name: number): number {
  return told('getsockopt', calls('getsockopt').option(fd, level, name))[0];
}

/** Returns the address of a socket. */
export function getsockname(fd: number): Address {
  return told('getsockname', calls('getsockname').ownAddress(fd));
}

/** Returns the address of a socket's peer. Throws `ENOTCONN` if there is none. */
export function getpeername(fd: number): Address {
  return told('getpeername', calls('getpeername').peerAddress(fd));
}

/** Returns whether a socket has a peer, can be written to now, and has no error. */
export function is_connected(fd: number): boolean {
  return told('is_connected', calls('is_connected').isConnected(fd));
}

/**
 * Returns the first IPv4 address of a host. Waits for the system's resolver, which cannot be interrupted. Throws
 * `ENOTFOUND`, or `EAI_AGAIN` if the resolver cannot be reached.
 */
export function gethostbyname(name: string): string {
  return told('gethostbyname', calls('gethostbyname').hostAddress(name));
}
