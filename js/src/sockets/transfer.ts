/** Accepts connections, connects, sends and receives. */

import { toInt32, wantsBytes, wrong } from './call-arguments.js';
import type { Address } from './calls.js';
import { calls, done, doneAt, told, waiting } from './native.js';

/** Data to send: a string as UTF-8, or the bytes of an `ArrayBuffer` or a view. */
export type SocketData = string | ArrayBuffer | ArrayBufferView;

/** An accepted connection. */
export interface Accepted extends Address {
  /** The descriptor of the connection. */
  fd: number;
}

/** A received datagram and the address of its sender. */
export interface Datagram<T extends string | Uint8Array = string> extends Address {
  /** The data as text or, with `bytes: true`, as bytes. */
  data: T;
}

/** How data is received. */
export interface ReceiveOptions {
  /** Whether to return a `Uint8Array` instead of a string. */
  bytes?: boolean;
}

/** Options for receiving bytes. */
export interface ReceiveBytes extends ReceiveOptions {
  /** Returns a `Uint8Array`. */
  bytes: true;
}

/** Options for receiving text. */
export interface ReceiveText extends ReceiveOptions {
  /** Returns a string. */
  bytes?: false;
}

/**
 * Accepts a connection. Waits for one unless the descriptor is non-blocking; in that case it returns `null` if there is
 * none. The new descriptor is blocking.
 */
export function accept(fd: number): Accepted | null {
  const native = calls('accept');
  return told(
    'accept',
    waiting(() => native.accept(fd)),
  );
}

/**
 * Connects a socket. Waits until it is connected unless the socket is non-blocking. Returns 0, also while a
 * non-blocking socket is connecting: when the socket becomes writable, the attempt is over, and `getsockopt(fd,
 * SOL_SOCKET, SO_ERROR)` returns its result.
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
 * Sends bytes and returns how many the system took. On a non-blocking socket that may be fewer, or 0 if it takes none
 * at the moment. A blocking socket waits until all are taken. Never raises `SIGPIPE`.
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
  // return what was sent; the next call reports the error
  if (sent > 0) return sent + Math.max(0, answer);
  return done('send', answer);
}

/** As `send`, to an address, for datagrams. */
export function sendto(fd: number, data: SocketData, flags: number, address: string, port?: number): number {
  const native = calls('sendto');
  checkAttached(data);
  const bits = toInt32(flags, 'flags');
  const answer = waiting(() => native.sendTo(fd, data, bits, address, port));
  return doneAt('sendto', address, answer);
}

/**
 * Receives at most `bufsize` bytes, and never more than 65,536, as text or as bytes. Waits for data unless the socket
 * is non-blocking; in that case it returns `null` if there is none. An empty result is the end of input or, on a
 * datagram socket, an empty datagram. In a text, bytes that are not UTF-8, such as an incomplete character, become
 * U+FFFD.
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

/** As `recv`, with the address of the sender. For a connection, the address is empty. */
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

/** Checks that bytes were not transferred away. Native code would see such a buffer as empty. */
function checkAttached(data: SocketData): void {
  if (typeof data !== 'object' || data === null || data.byteLength !== 0) return;
  const buffer = ArrayBuffer.isView(data) ? data.buffer : data;
  if (calls('send').isDetached(buffer)) throw wrong('data', 'bytes that are still there', 'detached');
}
