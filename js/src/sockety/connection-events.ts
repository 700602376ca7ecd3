/** What a connection tells, and with what. Types only. */

import type { Message, Response } from './message.js';
import type { UUID } from './uuid.js';

/** The events of a `Connection`. */
export interface ConnectionEvents {
  /** The header of the other side has come: `send` works. */
  connect: [];
  /** A message has begun. Of servers and clients; in a worker, messages come to `handleSocketyMessage`. */
  message: [message: Message];
  /** A response has begun; also those that somebody waited for. */
  response: [response: Response];
  /** A fast reply came; also those that somebody waited for. */
  fastReply: [id: UUID, code: number];
  /** The other side will disconnect soon. */
  goAway: [];
  /** A sign of life came that says nothing else. */
  heartbeat: [];
  /** The other side was silent for too long; `close` follows. */
  timeout: [];
  /** What went wrong with the connection; `close` follows. Without a listener nothing happens. Also what handlers threw. */
  error: [error: Error];
  /** It is over, however it ended. */
  close: [];
}
