// @ts-check
/** A client error, as a status code and a message for the client. Does not write the answer. */

export class HttpError extends Error {
  /**
   * @param {number} status
   * @param {string} message
   */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}
