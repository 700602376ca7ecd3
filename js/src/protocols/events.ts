/** The events of all protocols, for workers. Owns no event. */

import PROTOCOLS from './index.js';
import type { ProtocolEvents } from './protocol.js';

/** What is done with them, by number; the protocols' parts for workers are loaded. */
export function protocolEvents(): ProtocolEvents {
  return Object.assign({}, ...PROTOCOLS.map((protocol) => protocol.events?.()));
}
