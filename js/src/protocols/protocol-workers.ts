/** The protocols' code in a worker, combined. Handles no event itself. */

import type { ProtocolHost, ProtocolWorker } from './protocol.js';
import PROTOCOLS from './registry.js';

/** Loads the protocols' parts for workers and combines them into one. */
export function protocolWorker(host: ProtocolHost): ProtocolWorker {
  const parts = PROTOCOLS.map((protocol) => protocol.worker?.(host)).filter((part) => part !== undefined);
  return {
    events: Object.assign({}, ...parts.map((part) => part.events)),
    closed: (socketId, code, reason) => {
      for (const part of parts) part.closed(socketId, code, reason);
    },
  };
}
