/** The results of `stats` and `getDebugState`. */

/** The state of a gateway at one moment. Counters run from the gateway's creation, over all its starts and stops. */
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
  /** Connections refused because their address had too many, or made them too fast. */
  refusedByAddress: number;
  /** Connections refused, after `handleOpen` had accepted them, because their key (`limitKey`) had too many. */
  refusedByKey: number;
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
  /** Messages that were compressed, each once for all recipients that share the frame. */
  compressedMessages: number;
  /** Bytes of compressed messages before. */
  compressionBytesBefore: number;
  /** Bytes of compressed messages afterwards; those that did not get shorter count with their length before. */
  compressionBytesAfter: number;
  /** Messages that were sent uncompressed because `compressionQueueBytes` waited for their compression. */
  compressionSkipped: number;
  /**
   * Bytes that connections have reserved for context takeover. New connections get none while there is no room for their
   * windows within `memoryBytes`.
   */
  compressionContextBytes: number;
  /** Bytes held by outboxes. */
  outboxBytes: number;
  /** Bytes of messages that are being received. */
  inboundBytes: number;
  /** Running I/O threads. */
  ioThreads: number;
  /** Errors that were reported to `onError`, or printed. */
  errors: number;
  /** Internal errors that ended a connection. */
  panics: number;
  /**
   * How long handlers took, their promises included. Sampled: the first of every 16 events of a batch, and every
   * promise. Entry `i` counts times below 2^i µs that the entry before does not count; the last entry also counts
   * everything longer.
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
 * The link to other nodes at one moment. What was published on this node counts as `sent`, `queued`, `inFlight`,
 * `dropped`, `unconfirmed` or `refused`. What other nodes published to a channel that has subscribers here counts as
 * `received` or `missed`.
 */
export interface BackplaneStats {
  /** `connecting`: the link has never been up. `lost`: it was up, and Millrace tries to connect again. */
  state: 'connecting' | 'ready' | 'lost';
  /** For how long the link has been in this state, in milliseconds. */
  sinceMs: number;
  /** Messages that the server has confirmed. */
  sent: number;
  /** Messages that wait to be sent. */
  queued: number;
  /** Bytes of these. */
  queuedBytes: number;
  /** Messages that were sent and that the server has not confirmed yet. */
  inFlight: number;
  /**
   * Messages that were not sent because the queue was full (the oldest are dropped), because they were too large, or
   * because the gateway was stopped.
   */
  dropped: number;
  /** How often workers and Redis clients waited because the queue was nearly full (`limits.backplaneFull`). */
  waits: number;
  /** Messages in flight when the link was lost. It is not known whether the server took them. */
  unconfirmed: number;
  /** Messages and subscriptions that the server refused. */
  refused: number;
  /** Messages that came from other nodes and from other publishers. */
  received: number;
  /** Of these, messages from publishers that are not nodes. */
  foreign: number;
  /** Messages that other nodes published and that did not arrive, counted for each subscribed channel and pattern. */
  missed: number;
  /** Messages of other nodes that came a second time and were not delivered. */
  duplicates: number;
  /** Received data that was not a valid message: cut off, of another version, a text that is not UTF-8, or too long. */
  malformed: number;
  /** Times the link was lost. */
  losses: number;
  /** Channels and patterns that the server sends to this node. */
  subscriptions: number;
  /** Channels and patterns whose subscription the server has not confirmed yet. */
  pendingSubscriptions: number;
  /** Channels whose history the nodes share, if the option `channels` asks for history. */
  history?: HistoryStats;
  /** Channels whose members the nodes share, if the option `channels` asks for presence. */
  presence?: PresenceStats;
}

/** Channels whose history several nodes share, at one moment. They have a link to the server of their own. */
export interface HistoryStats {
  /** The state of this link, as in {@link BackplaneStats.state}. Unless it is `ready`, publications fail. */
  state: 'connecting' | 'ready' | 'lost';
  /** Channels that this node follows, because they have subscribers here. */
  followed: number;
  /** Bytes of the messages and questions that the server has not answered yet. */
  waitingBytes: number;
  /** Messages of this node that the server has numbered and kept. */
  stored: number;
  /** Messages of this node that an idempotency key has dropped. */
  repeated: number;
  /** Messages of this node that the server did not take, or of which that is not known. */
  failed: number;
  /** Of these, messages of which it is not known whether the server took them. */
  unknown: number;
  /** Messages of followed channels that have come, also those of this node. */
  received: number;
  /** What other programs wrote under the names of followed channels. It was dropped. */
  foreign: number;
  /**
   * How often a followed channel was read again, because a message was not the next one, or might have been lost in a
   * cluster of NATS servers. Nothing is missing then.
   */
  reread: number;
  /** How often the subscribers of a channel were told of a gap, because the server no longer had what this node had missed. */
  gaps: number;
  /** How often this node began the numbers of a channel anew, because the server had other messages under known ones. */
  renewed: number;
  /** Times the link was lost. */
  losses: number;
}

/** Channels whose members several nodes share, at one moment. They have a link to the server of their own. */
export interface PresenceStats {
  /**
   * The state of this link, as in {@link BackplaneStats.state}. Unless it is `ready`, other nodes do not learn who comes and goes
   * here, nor this node who does there.
   */
  state: 'connecting' | 'ready' | 'lost';
  /** Channels whose members on other nodes this node follows, because they have subscribers here or were asked about. */
  followed: number;
  /**
   * How often this node began to write its members: once, and again whenever the server had declared it dead, or had lost
   * everything.
   */
  sessions: number;
  /** How often all members of this node in a channel were written once more. */
  rewritten: number;
  /** How often the members of another node in a channel were read once more, because a change was missing. */
  reread: number;
  /** Times the link was lost. */
  losses: number;
}

/** A worker at one moment. */
export interface WorkerStats {
  /** As in `getDebugState('workers')`. */
  id: number;
  /** Connections pinned to it. */
  connections: number;
  /** Events delivered to the worker so far. */
  events: number;
  /** Events waiting in its queue. */
  queuedEvents: number;
  /** Bytes of these. */
  queuedBytes: number;
  /** As `handlerTimes` of all workers together. */
  handlerTimes: number[];
  /**
   * How long the worker's doorbell went unanswered, in the same form, sampled (every eighth ring). During this time its
   * event loop was busy with other work.
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
      /** The socket that this one is an alias of, real or virtual. */
      targetSocketId: number;
      /** The prefix of its messages, if it has one. */
      userPrefix?: Uint8Array;
      /** The number that marks its messages, if it has one. */
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
