// @ts-check
/** What is wrong with a request, as a status code and a sentence for its client. Writes no answer. */

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
