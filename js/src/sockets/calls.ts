/** Calls that do not wait: sockets, their addresses and their options. */

import { toInt32 } from './call-arguments.js';
import { calls, done, doneAt, told } from './native.js';

/** Where a socket is, or its peer. */
export interface Address {
  /** An IP address, or the path of a unix socket: empty if it has none. */
  address: string;
  /** 0 for unix sockets. */
  port: number;
}

/**
 * Makes a socket and returns its descriptor: a number of Millrace's own, never the system's. Its calls wait until
 * `setnonblocking`.
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
 * Gives a socket its address. Returns 0.
 *
 * @param address an IP address of the socket's family, `''` for all interfaces, or the path of a unix socket
 * @param port 0: any that is free, which `getsockname` tells. A unix socket has none.
 */
export function bind(fd: number, address: string, port?: number): number {
  return doneAt('bind', address, calls('bind').bind(fd, address, port));
}

/** Lets a bound socket be connected to. Returns 0. */
export function listen(fd: number, backlog = 128): number {
  return done('listen', calls('listen').listen(fd, backlog));
}

/** Ends one direction of a connection, or both: `SHUT_RD`, `SHUT_WR`, `SHUT_RDWR`. Returns 0. */
export function shutdown(fd: number, how: number): number {
  return done('shutdown', calls('shutdown').shutdown(fd, how));
}

/**
 * Closes a descriptor. Returns 0. Its number is never given out again, and reaches nothing any more: closing it twice
 * throws. A call that waits on it in another thread fails with `EBADF`, and what it works on is closed when it returns,
 * after 50 ms at most.
 */
export function close(fd: number): number {
  return done('close', calls('close').close(fd));
}

/** Makes the calls of a descriptor return at once. Returns 0. */
export function setnonblocking(fd: number): number {
  return done('setnonblocking', calls('setnonblocking').setNonblocking(fd));
}

/**
 * Sets an option whose value is an integer. Returns 0.
 *
 * @example
 * ```ts
 * setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, 1);
 * ```
 */
export function setsockopt(fd: number, level: number, name: number, value: number): number {
  return done('setsockopt', calls('setsockopt').setOption(fd, level, name, toInt32(value, 'value')));
}

/** The value of an option that is an integer. */
export function getsockopt(fd: number, level: number, name: number): number {
  return told('getsockopt', calls('getsockopt').option(fd, level, name))[0];
}

/** The address of a socket itself. */
export function getsockname(fd: number): Address {
  return told('getsockname', calls('getsockname').ownAddress(fd));
}

/** The address of its peer. Throws `ENOTCONN` where there is none. */
export function getpeername(fd: number): Address {
  return told('getpeername', calls('getpeername').peerAddress(fd));
}

/** Whether a socket has a peer, could be written to right now, and nothing is wrong with it. */
export function is_connected(fd: number): boolean {
  return told('is_connected', calls('is_connected').isConnected(fd));
}

/**
 * The first IPv4 address of a host. Waits for the system's resolver, which nothing can interrupt. Throws `ENOTFOUND`, or
 * `EAI_AGAIN` where the resolver cannot be reached.
 */
export function gethostbyname(name: string): string {
  return told('gethostbyname', calls('gethostbyname').hostAddress(name));
}
