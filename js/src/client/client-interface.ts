/** What a client of `millrace.v1` offers. Types only. */

import type { CallError } from './call-error.js';

/** A place in the publications of a channel with history. */
export interface Position {
  /** Changes when the offsets began anew. */
  readonly epoch: string;
  /** The number of the publication, from 1. Zero is before the first one. */
  readonly offset: number;
}

/** A message. */
export interface Message<Data = unknown> {
  /** The value that JSON text stands for, other text as a string, bytes as a `Uint8Array`, undefined without a payload. */
  readonly data: Data;
  /** The channel. Undefined in a message that the server sent to this client alone. */
  readonly channel: string | undefined;
  /** The number of the publication in its channel. Undefined without history. */
  readonly offset: number | undefined;
  /** When it was published, in milliseconds since 1970. Undefined without history. */
  readonly timestamp: number | undefined;
  /** The publisher's socket id, if the channel shows it. */
  readonly from: string | undefined;
  /** The mark of the virtual socket that it came through. Only in messages of `client.onMessage`. */
  readonly mark: string | number | undefined;
}

/** A member of a channel with presence. */
export interface Member {
  /** The member's socket id. */
  readonly socketId: string;
  /** What the member, or the server for it, told about itself. */
  readonly info: unknown;
}

/** How the connection is: being made, open, lost and waiting for the next attempt, or closed for good. */
export type Status = 'connecting' | 'open' | 'waiting' | 'closed';

/** Why a connection ended. */
export interface StatusReason {
  /** The close code. 1006 if there was none, for example because the link was dead or no token could be got. */
  readonly code: number;
  /** The server's reason, or the client's own. May be empty. */
  readonly reason: string;
}

/** The callbacks of a subscription, and where it begins. */
export interface SubscribeOptions<Data = unknown> {
  /** Continue behind this position, which an earlier subscription has told. */
  since?: Position | undefined;
  /** Begin with this many of the last publications that the channel keeps. Not together with `since`. */
  last?: number | undefined;
  /** What the other members see, if the channel has presence and allows it. A JSON value of at most 4 KiB. */
  info?: unknown;
  /** Called for each publication, once and in order. */
  onMessage?(message: Message<Data>): void;
  /** Called with members that have joined. */
  onJoin?(members: Member[]): void;
  /** Called with members that have left. */
  onLeave?(members: Member[]): void;
  /** Called with members whose `info` has changed. */
  onUpdate?(members: Member[]): void;
  /** Called instead of the three above with the number of members, while there are many. */
  onCount?(members: number): void;
  /**
   * Called when publications may have been lost: reload what you show. Behind it come those after `position`, which is
   * undefined on a channel without history. There every lost connection is a gap.
   */
  onGap?(position: Position | undefined): void;
  /** Called when the subscription stands again and nothing is lost. What was missed follows. */
  onRecovered?(position: Position): void;
  /** Called each time that the subscription stands, also after a lost connection: ask for presence anew. */
  onSubscribed?(): void;
  /** Called when the server refused the subscription, which is over then. */
  onError?(error: CallError): void;
}

/** How a request is made. */
export interface RequestOptions {
  /** Whether to wait for a connection, if there is none. With `false` the request then fails at once. Default true. */
  queue?: boolean | undefined;
  /** How long the answer may take in milliseconds, the wait for a connection included. */
  timeoutMs?: number | undefined;
}

/** How a publication is made. It has no timeout unless `timeoutMs` is given. */
export interface PublishOptions extends RequestOptions {
  /** Drops the publication if the channel's history has one with the same key. Default a random one. At most 64 bytes. */
  idempotencyKey?: string | undefined;
}

/** Which publications of the history to read. */
export interface HistoryOptions extends RequestOptions {
  /** Only those behind this position. */
  since?: Position | undefined;
  /** How many at most. Default 100. */
  limit?: number | undefined;
  /** Newest first. Default false. */
  reverse?: boolean | undefined;
}

/** What a channel keeps, or a part of it. */
export interface HistoryPage<Data = unknown> {
  /** The position of the channel's newest publication. */
  readonly position: Position;
  /** The publications, in the order that was asked for. */
  readonly publications: Message<Data>[];
}

/** What becomes of a publication. */
export interface Published {
  /** Its position. Undefined on a channel without history. */
  readonly position: Position | undefined;
}

/** A subscription. Iterate over it to receive what is published from then on; breaking the loop does not close it. */
export interface Subscription<Data = unknown> extends AsyncIterable<Message<Data>> {
  /** The channel's name. */
  readonly channel: string;
  /** The position of the last publication that was received; undefined without history, and at first. */
  readonly position: Position | undefined;
  /** The members of the channel, ordered by socket id. The timeout is that of each page of 1,000; default 10 seconds. */
  presence(options?: RequestOptions): Promise<Member[]>;
  /** What the channel keeps. Default timeout 10 seconds. */
  history(options?: HistoryOptions): Promise<HistoryPage<Data>>;
  /** Changes what the other members see. Default timeout 10 seconds. */
  setInfo(info: unknown, options?: RequestOptions): Promise<void>;
  /** Ends the subscription. Loops over it end. */
  close(): void;
}

/** A client of a server, which connects again whenever the connection is lost. */
export interface Client {
  /** How the connection is. */
  readonly status: Status;
  /** This connection's socket id, as others see it. Another one after each reconnect. */
  readonly socketId: string | undefined;
  /**
   * Calls `listener` whenever `status` has changed.
   *
   * @returns a function that ends this
   */
  onStatus(listener: (status: Status, reason: StatusReason | undefined) => void): () => void;
  /**
   * Calls `listener` with messages that the server sent to this client alone, and with those of channels that only the
   * server's code subscribed it to, or that came through a virtual socket. If that code subscribes it again after a lost
   * connection, and the channel has history, the messages go on where they were.
   *
   * @returns a function that ends this
   */
  onMessage(listener: (message: Message) => void): () => void;
  /**
   * Calls `listener` when publications of a channel that only the server's code subscribed this client to may have been
   * lost, as `onGap` of a subscription.
   *
   * @returns a function that ends this
   */
  onGap(listener: (channel: string, position: Position | undefined) => void): () => void;
  /**
   * Subscribes to a channel. Subscriptions to the same channel share one on the server.
   *
   * @throws {CallError} `closed` if the client is closed, `limit` if the name and `info` are over 8 KiB
   * @throws {TypeError} for options that are no JSON
   */
  subscribe<Data = unknown>(channel: string, options?: SubscribeOptions<Data>): Subscription<Data>;
  /**
   * Publishes bytes, or any other value as JSON. After a lost connection it is sent again, and not doubled, if the
   * channel has history; else it rejects with `closed` if it was on its way.
   *
   * @returns its position, undefined without history
   * @throws {CallError} as a rejection
   */
  publish(channel: string, data: unknown, options?: PublishOptions): Promise<Published>;
  /**
   * Calls a method of the server with bytes, or any other value as JSON. Default timeout 10 seconds.
   *
   * @returns the answer, as in {@link Message.data}
   * @throws {CallError} as a rejection; `closed` if the connection was lost before the answer
   */
  call<Data = unknown>(method: string, params?: unknown, options?: RequestOptions): Promise<Data>;
  /**
   * Answers the server's calls of a method with what `handler` returns, or with the code of a {@link CallError} that it
   * throws; other errors are answered with the code `failed`.
   *
   * @returns a function that ends this
   */
  handle(method: string, handler: (params: unknown) => unknown): () => void;
  /** Closes the connection, ends all subscriptions and rejects all that waits with `closed`. */
  close(): void;
}
