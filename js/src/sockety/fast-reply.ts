/** The answers of two bytes that have names. */

/** Codes of fast replies. Any number from 0 to 4095 is one; these have names. */
export enum FastReply {
  /** Done. */
  Accept = 0,
  /** Not done. */
  Reject = 1,
  /** Nobody knows the action. */
  NotImplemented = 2,
  /** The sender may not ask for it. */
  Unauthorized = 3,
  /** The message says nothing that is understood. */
  BadRequest = 4,
  /** It failed. */
  InternalError = 5,
}
