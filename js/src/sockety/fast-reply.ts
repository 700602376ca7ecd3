/** The fast replies that have names. */

/** Codes of fast replies. Every number from 0 to 4095 is a valid code; these have names. */
export enum FastReply {
  /** The request was accepted. */
  Accept = 0,
  /** The request was rejected. */
  Reject = 1,
  /** The action is not known. */
  NotImplemented = 2,
  /** The sender is not allowed to do this. */
  Unauthorized = 3,
  /** The message is not valid. */
  BadRequest = 4,
  /** The request failed. */
  InternalError = 5,
}
