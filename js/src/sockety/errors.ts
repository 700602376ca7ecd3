/** What goes wrong with Sockety, as errors. */

/** An error of Sockety. */
export class SocketyError extends Error {
  /**
   * - `'ERR_SOCKETY_CLOSED'`: the connection is closed, or closed before something was complete.
   * - `'ERR_SOCKETY_ABORTED'`: a message was given up before it was complete, by its sender.
   * - `'ERR_SOCKETY_NOT_SENT'`: a message could not be sent: a name is too long, too much waits, or its contents are not those
   *   that it announced.
   * - `'ERR_SOCKETY_TOO_LARGE'`: data is longer than may be collected.
   * - `'ERR_SOCKETY_TIMEOUT'`: an answer did not come in time.
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
  | 'ERR_SOCKETY_TOO_LARGE'
  | 'ERR_SOCKETY_TIMEOUT';

/** The connection is closed. */
export function closed(): SocketyError {
  return new SocketyError('ERR_SOCKETY_CLOSED', 'The connection is closed.');
}
