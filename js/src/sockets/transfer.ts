/** Connections, and bytes out and in. */

import { toInt32, wantsBytes, wrong } from './call-arguments.js';
import type { Address } from './calls.js';
import { calls, done, doneAt, told, waiting } from './native.js';

/** What can be sent: text as UTF-8, and of an `ArrayBuffer` or a view exactly its bytes. */
export type SocketData = string | ArrayBuffer | ArrayBufferView;

/** An accepted connection. */
export interface Accepted extends Address {
  /** Its descriptor. */
  fd: number;
}

/** A received datagram, and where it is from. */
export interface Datagram<T extends string | Uint8Array = string> extends Address {
  /** Its text or, with `bytes: true`, its bytes. */
  data: T;
}

/** What is received. */
export interface ReceiveOptions {
  /** A `Uint8Array` instead of text. */
  bytes?: boolean;
}

/** What is received: bytes. */
export interface ReceiveBytes extends ReceiveOptions {
  /** A `Uint8Array`. */
  bytes: true;
}

/** What is received: text. */
export interface ReceiveText extends ReceiveOptions {
  /** No `Uint8Array`. */
  bytes?: false;
}

/**
 * Takes a connection. Waits for one, unless the descriptor is non-blocking: then `null` is that there is none. The new
 * descriptor is blocking.
 */
export function accept(fd: number): Accepted | null {
  const native = calls('accept');
  return told(
    'accept',
    waiting(() => native.accept(fd)),
  );
}

/**
 * Connects a socket; waits until it is connected, unless it is non-blocking. Returns 0, also where it is in progress: then
 * the socket is writable once it is over, and `getsockopt(fd, SOL_SOCKET, SO_ERROR)` tells how.
 *
 * @param address an IP address of the socket's family, or the path of a unix socket
 */
export function connect(fd: number, address: string, port?: number): number {
  const native = calls('connect');
  let again = false;
  const answer = waiting(() => {
    const now = native.connect(fd, address, port, again);
    again = true;
    return now;
  });
  return doneAt('connect', address, answer);
}

/**
 * Sends bytes and returns how many the system took. On a non-blocking socket that may be some of them, or 0: nothing at the
 * moment. On a blocking one it waits until all are taken. Never raises `SIGPIPE`.
 *
 * @example
 * ```ts
 * send(fd, 'hello\n');
 * send(fd, new Uint8Array([1, 2, 3]));
 * ```
 */
export function send(fd: number, data: SocketData, flags = 0): number {
  const native = calls('send');
  checkAttached(data);
  const bits = toInt32(flags, 'flags');
  let sent = 0;
  const answer = waiting(() => {
    const now = native.send(fd, data, bits, sent);
    if (typeof now === 'number') return now;
    sent += now[0];
    return undefined;
  });
  // what went is told, and why no more did by the next call
  if (sent > 0) return sent + Math.max(0, answer);
  return done('send', answer);
}

/** As `send`, to somebody: for datagrams. */
export function sendto(fd: number, data: SocketData, flags: number, address: string, port?: number): number {
  const native = calls('sendto');
  checkAttached(data);
  const bits = toInt32(flags, 'flags');
  const answer = waiting(() => native.sendTo(fd, data, bits, address, port));
  return doneAt('sendto', address, answer);
}

/**
 * Receives at most `bufsize` bytes, 65,536 at most: as text, or as bytes. Waits for some, unless the socket is non-blocking:
 * then `null` is that there are none at the moment. Nothing (`''`, or a length of 0) is the end: the peer sends no more. (Of a
 * socket for datagrams it is an empty one.) Bytes that are no UTF-8, such as half a character, become U+FFFD in a text.
 *
 * @example
 * ```ts
 * const text = recv(fd, 4096);
 * const bytes = recv(fd, 4096, 0, { bytes: true });
 * ```
 */
export function recv(fd: number, bufsize: number, flags: number | undefined, options: ReceiveBytes): Uint8Array | null;
export function recv(fd: number, bufsize: number, flags?: number, options?: ReceiveText): string | null;
export function recv(fd: number, bufsize: number, flags?: number, options?: ReceiveOptions): string | Uint8Array | null;
export function recv(fd: number, bufsize: number, flags = 0, options?: ReceiveOptions): string | Uint8Array | null {
  const native = calls('recv');
  const bytes = wantsBytes(options);
  const bits = toInt32(flags, 'flags');
  const answer = waiting(() => native.receive(fd, bufsize, bits, bytes));
  return shown(told('recv', answer));
}

/** As `recv`, and tells where it is from. Of a connection nobody tells: the address is empty. */
export function recvfrom(
  fd: number,
  bufsize: number,
  flags: number | undefined,
  options: ReceiveBytes,
): Datagram<Uint8Array> | null;
export function recvfrom(fd: number, bufsize: number, flags?: number, options?: ReceiveText): Datagram | null;
export function recvfrom(
  fd: number,
  bufsize: number,
  flags?: number,
  options?: ReceiveOptions,
): Datagram<string | Uint8Array> | null;
export function recvfrom(
  fd: number,
  bufsize: number,
  flags = 0,
  options?: ReceiveOptions,
): Datagram<string | Uint8Array> | null {
  const native = calls('recvfrom');
  const bytes = wantsBytes(options);
  const bits = toInt32(flags, 'flags');
  const datagram = told(
    'recvfrom',
    waiting(() => native.receiveFrom(fd, bufsize, bits, bytes)),
  );
  return datagram === null ? null : { ...datagram, data: shown(datagram.data) };
}

function shown<T>(received: T | ArrayBuffer): T | Uint8Array {
  return received instanceof ArrayBuffer ? new Uint8Array(received) : received;
}

/** Nothing could be told of bytes that were given away but that there are none. */
function checkAttached(data: SocketData): void {
  if (typeof data !== 'object' || data === null || data.byteLength !== 0) return;
  const buffer = ArrayBuffer.isView(data) ? data.buffer : data;
  if (calls('send').isDetached(buffer)) throw wrong('data', 'bytes that are still there', 'detached');
}
