/** What `stats` and `getDebugState` return. */

/** A gateway at one moment. Counters run from when it was made, over all its starts and stops. */
export interface Stats {
  /** Connections open now, handshakes included. */
  connections: number;
  /** Real sockets open now. */
  sockets: number;
  /** Virtual sockets. */
  virtualSockets: number;
  /** Channels with a subscription. */
  channels: number;
  /** Patterns with a subscription. */
  patterns: number;
  /** Subscriptions, each counted once whatever its reference count. */
  subscriptions: number;
  /** Keys in the key/value store. */
  keys: number;
  /** Connections that became sockets. */
  opened: number;
  /** Sockets that closed. */
  closed: number;
  /** Connections refused during the handshake. */
  refused: number;
  /** TLS handshakes that failed. */
  failedHandshakes: number;
  /** Connections closed because the header of the PROXY protocol was missing, malformed, late or from an address that is not trusted. */
  refusedProxyHeaders: number;
  /** HTTP requests answered, handshakes and refusals included. */
  requests: number;
  /** Messages received. */
  messagesIn: number;
  /** Bytes of messages received, without framing. */
  messageBytesIn: number;
  /** Bytes read. */
  bytesIn: number;
  /** Bytes written. */
  bytesOut: number;
  /** Deliveries posted, as counted by what `send` returned. */
  deliveries: number;
  /** Deliveries refused because an I/O thread had too much to do; `send` did not count them. */
  deliveriesRefused: number;
  /** Messages dropped because their socket closed before they were written. */
  droppedByClose: number;
  /** Messages dropped because an outbox was full. */
  droppedByOverflow: number;
  /** Messages dropped because their recipient's protocol cannot carry one so long. */
  droppedByEncoding: number;
  /** Sockets closed because their outbox was full. */
  overflowCloses: number;
  /** Sockets closed because all messages that were being received held too much. */
  inboundCloses: number;
  /** Peers that did not answer a ping. */
  pingTimeouts: number;
  /** Text messages that were no JSON object and so went out without a virtual socket's user data. */
  unannotated: number;
  /** Closes that no worker was left to handle. */
  unhandledCloses: number;
  /** Bytes held by outboxes. */
  outboxBytes: number;
  /** Bytes of messages that are being received. */
  inboundBytes: number;
  /** Running I/O threads. */
  ioThreads: number;
  /** Errors that were reported to `onError`, or printed. */
  errors: number;
  /** Bugs of ours that ended a connection. */
  panics: number;
  /**
   * How long handlers took, promises included, sampled (the first of every 16 events of a batch, and every promise):
   * entry `i` counts those below 2^i µs and not below half of it; the last also takes everything longer.
   */
  handlerTimes: number[];
  /** The link to other nodes, if there is one. */
  backplane?: BackplaneStats;
  /** Resident memory of the process, in bytes. */
  residentBytes: number;
  /** The registered workers. */
  workers: WorkerStats[];
}

/**
 * The link to other nodes at one moment. What was published here is `sent`, `queued`, `inFlight`, `dropped`, `unconfirmed` or
 * `refused`; what other nodes published to a channel subscribed here is `received` or `missed`.
 */
export interface BackplaneStats {
  /** `connecting`: it has never been up; `lost`: it was, and is tried again. */
  state: 'connecting' | 'ready' | 'lost';
  /** For how long it has been so. */
  sinceMs: number;
  /** Messages that the server has taken. */
  sent: number;
  /** Messages that wait to be sent. */
  queued: number;
  /** Bytes of these. */
  queuedBytes: number;
  /** Messages on their way, of which the server has not said yet that it has taken them. */
  inFlight: number;
  /** Messages that were not sent: too many waited (the oldest are dropped), one was too large, or the gateway was stopped. */
  dropped: number;
  /** Times that workers and Redis clients waited, because much was queued (`limits.backplaneFull`). */
  waits: number;
  /** Messages that were on their way when the link was lost: the server may have taken them or not. */
  unconfirmed: number;
  /** Messages and subscriptions that the server refused. */
  refused: number;
  /** Messages that came from other nodes, and from whoever else publishes. */
  received: number;
  /** Of these, those of nobody that is a node. */
  foreign: number;
  /** Messages of other nodes that were published and did not come, counted for each channel and pattern that is subscribed. */
  missed: number;
  /** Messages of other nodes that came a second time and were not delivered. */
  duplicates: number;
  /** What came and was no message: cut, of another version, a text that is no UTF-8, or too long. */
  malformed: number;
  /** Times the link was lost. */
  losses: number;
  /** Channels and patterns that the server sends to this node. */
  subscriptions: number;
  /** Those that are to be and are not yet. */
  pendingSubscriptions: number;
}

/** A worker at one moment. */
export interface WorkerStats {
  /** As in `getDebugState('workers')`. */
  id: number;
  /** Connections pinned to it. */
  connections: number;
  /** Events told to it so far. */
  events: number;
  /** Events waiting in its queue. */
  queuedEvents: number;
  /** Bytes of these. */
  queuedBytes: number;
  /** As `handlerTimes` of all of them together. */
  handlerTimes: number[];
  /**
   * How long it left its doorbell unanswered, sampled (every eighth ring), in the same form: what its event loop was
   * busy with before it came to its events.
   */
  loopDelays: number[];
}

/** A channel: its name and the reference count of each subscription. */
export interface ChannelState {
  /** The name. */
  channel: Uint8Array;
  /** Socket id to reference count. */
  subscribers: Record<number, number>;
}

/** A real or virtual socket. */
export type SocketState =
  | {
      /** The peer's address without its port; empty on a unix socket. */
      ip: string;
      /** The worker that handles its events. */
      workerId: number;
    }
  | {
      /** The socket that it is an alias of, real or virtual. */
      targetSocketId: number;
      /** What stands in front of its messages, if anything. */
      userPrefix?: Uint8Array;
      /** The number that marks its messages, if any. */
      userData?: number;
    };

/** A registered worker. */
export interface WorkerState {
  /** Its module exports `handleTextMessage`. */
  hasTextHandler: boolean;
  /** Its module exports `handleBinaryMessage`. */
  hasBinaryHandler: boolean;
  /** Its module exports `handleClose`. */
  hasCloseHandler: boolean;
  /** Its module exports `handleOpen`. */
  hasOpenHandler: boolean;
}

/** A pair of the key/value store. */
export interface KeyState {
  /** The key. */
  key: Uint8Array;
  /** A copy of its value. */
  value: Uint8Array;
}
