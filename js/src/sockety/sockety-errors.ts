/** The errors of Sockety. */

/** An error of Sockety. */
export class SocketyError extends Error {
  /**
   * - `'ERR_SOCKETY_CLOSED'`: the connection is closed, or closed before something was complete.
   * - `'ERR_SOCKETY_ABORTED'`: the sender of a message aborted it before it was complete.
   * - `'ERR_SOCKETY_NOT_SENT'`: a message could not be sent: a name is too long, too much is queued, or its contents
   *   differ from those that it announced.
   * - `'ERR_SOCKETY_NO_CHANNEL'`: a message could not be sent, because a message was aborted on every channel.
   * - `'ERR_SOCKETY_READ'`: contents are being read or saved already.
   * - `'ERR_SOCKETY_USED'`: a file from a stream was sent already.
   * - `'ERR_SOCKETY_INVALID'`: an argument is outside of the protocol's limits, or a draft's data or files are missing.
   * - `'ERR_SOCKETY_TOO_LARGE'`: data exceeds the limit for collecting it.
   * - `'ERR_SOCKETY_TIMEOUT'`: an answer, or the header of the other side, did not arrive in time.
   * - `'ERR_SOCKETY_PROTOCOL'`: the other side broke the protocol, or a limit; the message says which.
   * - `'ERR_SOCKETY_NOT_READY'`: the header of the other side has not arrived yet.
   * - `'ERR_SOCKETY_TLS'`: the other side was reached, but TLS with it failed; the message says why.
   * - `'ERR_SOCKETY_NOT_LISTENING'`, `'ERR_SOCKETY_LISTENING'`: a server does not listen, or listens already.
   */
  readonly code: SocketyErrorCode;

  /** @internal */
  constructor(code: SocketyErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SocketyError';
    this.code = code;
  }
}

/** The codes of `SocketyError`. */
export type SocketyErrorCode =
  | 'ERR_SOCKETY_CLOSED'
  | 'ERR_SOCKETY_ABORTED'
  | 'ERR_SOCKETY_NOT_SENT'
  | 'ERR_SOCKETY_NO_CHANNEL'
  | 'ERR_SOCKETY_READ'
  | 'ERR_SOCKETY_USED'
  | 'ERR_SOCKETY_INVALID'
  | 'ERR_SOCKETY_TOO_LARGE'
  | 'ERR_SOCKETY_TIMEOUT'
  | 'ERR_SOCKETY_PROTOCOL'
  | 'ERR_SOCKETY_NOT_READY'
  | 'ERR_SOCKETY_TLS'
  | 'ERR_SOCKETY_NOT_LISTENING'
  | 'ERR_SOCKETY_LISTENING';

/** The error for a connection that is closed. */
export function closed(): SocketyError {
  return new SocketyError('ERR_SOCKETY_CLOSED', 'The connection is closed.');
}

/** The error for a message that could not be sent. */
export function notSent(): SocketyError {
  return new SocketyError('ERR_SOCKETY_NOT_SENT', 'The message could not be sent.');
}

/** The error for a message that could not be sent because no channel is left. */
export function noChannel(): SocketyError {
  const problem = 'The message could not be sent: on every channel one was given up, and none is used again.';
  return new SocketyError('ERR_SOCKETY_NO_CHANNEL', problem);
}

/** The error of a connection's end, by its close code. Undefined if one side closed it, or if it was lost. */
export function errorOfEnd(code: number, reason: string): SocketyError | undefined {
  if (MISTAKES.has(code)) return new SocketyError('ERR_SOCKETY_PROTOCOL', reason);
  if (QUIET_ENDS.has(code)) return undefined;
  return new SocketyError('ERR_SOCKETY_CLOSED', reason === '' ? `The connection was closed with ${code}.` : reason);
}

/** Close codes for mistakes of the other side. */
const MISTAKES: ReadonlySet<number> = new Set([1002, 1003, 1007, 1008, 1009]);

/** Close codes without an error: closed on this side, going away, closed by the other side, lost. */
const QUIET_ENDS: ReadonlySet<number> = new Set([1000, 1001, 1005, 1006]);
