/** The types of channels with history: positions, and what is kept. */

/** A place in the sequence of a channel's messages. */
export interface Position {
  /** At most 16 characters. It changes whenever the offsets began anew. */
  epoch: string;
  /** The number of a message of the channel, from 1 on; 0 is before the first. */
  offset: number;
}

/** Options of `publish`. */
export interface PublishOptions {
  /**
   * Names the message, at most 64 bytes: a later one with the same key is dropped for as long as this one is kept. Without
   * history it has no effect.
   */
  idempotencyKey?: string;
  /** As in `send`. Default: true. */
  compress?: boolean;
}

/** What came of a publication. */
export interface Published {
  /**
   * How many deliveries were posted; 0 for a message that was published before with the same key. With several nodes: the
   * channel's subscribers on this node.
   */
  deliveries: number;
  /** Where the message is in its channel: with a key that was used before, the first one. Undefined without history. */
  position: Position | undefined;
}

/** How sockets enter a channel: where they begin in one with history, by one of the first two, and what they are in one with presence. */
export interface SubscribeOptions {
  /** They get what was published behind this position, and then what is published. */
  since?: Position;
  /** They get so many of the last messages that are kept, and then what is published. */
  last?: number;
  /**
   * They become members of the channel, of whom the other subscribers see this: a value of JSON, at most 4,096 bytes.
   * They are members until the application's subscriptions end.
   */
  member?: unknown;
}

/** How a socket has entered a channel. */
export interface SubscribeResult {
  /** The socket's id. */
  id: number;
  /** With `since`: whether nothing is missing behind it. False: nothing of the past is sent. */
  recovered?: boolean;
  /** The newest message at that moment. Undefined without history. */
  position: Position | undefined;
}

/** Options of `history`. */
export interface HistoryOptions {
  /** Only messages behind this position. If its epoch is another one or it is no longer kept, all that are kept. */
  since?: Position;
  /** The most messages. Default: all. */
  limit?: number;
  /** Whether the newest come first. Default: false. */
  reverse?: boolean;
}

/** A message that a channel has kept. */
export interface Publication {
  /** Its number in the channel. */
  offset: number;
  /** When it was published, in milliseconds of Unix time. */
  timestamp: number;
  /** A text is a string. */
  data: string | Buffer;
  /** The socket that published it, if a client did. */
  from?: number;
  /** The node that has this socket, in a channel whose history several nodes share. */
  node?: string;
}

/** What a channel has kept. */
export interface History {
  /** The newest message, kept or not. */
  position: Position;
  /** The oldest first, unless `reverse` is given. */
  publications: Publication[];
}
