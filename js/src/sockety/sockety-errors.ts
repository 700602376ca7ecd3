/** The errors of Sockety. */

/** An error of Sockety. */
export class SocketyError extends Error {
  /**
   * - `'ERR_SOCKETY_CLOSED'`: the connection is closed, or closed before something was complete.
   * - `'ERR_SOCKETY_ABORTED'`: a message was given up before it was complete, by its sender.
   * - `'ERR_SOCKETY_NOT_SENT'`: a message could not be sent: a name is too long, too much waits, or its contents are not those
   *   that it announced.
   * - `'ERR_SOCKETY_NO_CHANNEL'`: a message could not be sent, because one was given up on every channel of the connection.
   * - `'ERR_SOCKETY_READ'`: contents are being read or saved already.
   * - `'ERR_SOCKETY_USED'`: a file from a stream was sent already.
   * - `'ERR_SOCKETY_INVALID'`: an argument is outside of what the protocol can say, or a draft's data or files are missing.
   * - `'ERR_SOCKETY_TOO_LARGE'`: data is longer than may be collected.
   * - `'ERR_SOCKETY_TIMEOUT'`: an answer, or the header of the other side, did not come in time.
   * - `'ERR_SOCKETY_PROTOCOL'`: the other side broke the protocol, or a limit; the message says which.
   * - `'ERR_SOCKETY_NOT_READY'`: the header of the other side has not come yet.
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

/** The connection is closed. */
export function closed(): SocketyError {
  return new SocketyError('ERR_SOCKETY_CLOSED', 'The connection is closed.');
}

/** It is not on its way, and will not be. */
export function notSent(): SocketyError {
  return new SocketyError('ERR_SOCKETY_NOT_SENT', 'The message could not be sent.');
}

/** It is not on its way, nor will be anything else on this connection. */
export function noChannel(): SocketyError {
  const problem = 'The message could not be sent: on every channel one was given up, and none is used again.';
  return new SocketyError('ERR_SOCKETY_NO_CHANNEL', problem);
}

/** Why a connection ended, by its close code; undefined: because one of both sides wanted it, or it was lost. */
export function errorOfEnd(code: number, reason: string): SocketyError | undefined {
  if (MISTAKES.has(code)) return new SocketyError('ERR_SOCKETY_PROTOCOL', reason);
  if (QUIET_ENDS.has(code)) return undefined;
  return new SocketyError('ERR_SOCKETY_CLOSED', reason === '' ? `The connection was closed with ${code}.` : reason);
}

/** Codes for what the other side did wrong. */
const MISTAKES: ReadonlySet<number> = new Set([1002, 1003, 1007, 1008, 1009]);

/** Closed here, going away, ended by the other side, lost. */
const QUIET_ENDS: ReadonlySet<number> = new Set([1000, 1001, 1005, 1006]);
