/** What the protocols do with their events in a worker. Owns no event. */

import type { ProtocolHost, ProtocolWorker } from './protocol.js';
import PROTOCOLS from './registry.js';

/** All of it; the protocols' parts for workers are loaded. */
export function protocolWorker(host: ProtocolHost): ProtocolWorker {
  const parts = PROTOCOLS.map((protocol) => protocol.worker?.(host)).filter((part) => part !== undefined);
  return {
    events: Object.assign({}, ...parts.map((part) => part.events)),
    closed: (socketId, code, reason) => {
      for (const part of parts) part.closed(socketId, code, reason);
    },
  };
}
