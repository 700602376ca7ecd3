/** The error of the client, also for what the server asked. */

/**
 * Why a request failed. What a client's promises reject with, and what a handler of `client.handle` throws to
 * answer the server's call with a code of its own.
 */
export class CallError extends Error {
  /**
   * `bad`, `denied`, `limit`, `not_found`, `timeout` or `failed` of the server, `closed`, `limit` or `timeout` of the client
   * itself, or any code that a handler of the application gave.
   */
  readonly code: string;
  /** The server's or the handler's explanation, for people. */
  readonly reason: string | undefined;

  /**
   * For a handler.
   *
   * @param code at most 64 bytes of UTF-8
   * @param reason for people
   */
  constructor(code: string, reason?: string) {
    super(reason === undefined ? code : `${code}: ${reason}`);
    this.name = 'CallError';
    this.code = code;
    this.reason = reason;
  }
}
