/** The events of the splice client's sockets and multiplexers. Types only. */

/** The members of `CloseEvent` that the client sets. */
export interface SpliceCloseDetails extends Event {
  /** The code that the target closed with. 1005 if it gave none, 1006 if the end was not clean. */
  readonly code: number;
  /** The reason that the target gave. */
  readonly reason: string;
  /** Whether the target closed the connection properly. */
  readonly wasClean: boolean;
}

/** `CloseEvent`, if the platform's types have it. */
export type SpliceCloseEvent =
  typeof globalThis extends Record<'CloseEvent', new (...given: never) => infer Instance>
    ? Instance
    : SpliceCloseDetails;

/** An error, with the multiplexer's reason if it gave one. */
export interface SpliceErrorEvent extends Event {
  /** The multiplexer's code: 4005 to 4007 say that the target was refused or not reached. */
  readonly code?: number;
  /** The multiplexer's message, for people. */
  readonly message?: string;
}

/** The events of a socket. */
export interface SpliceSocketEvents {
  /** The socket can send. */
  open: Event;
  /** A message arrived. Its `data` is a string, or of the type in `binaryType`. */
  message: MessageEvent;
  /** The socket failed. `close` follows. */
  error: SpliceErrorEvent;
  /** The socket is closed. */
  close: SpliceCloseEvent;
  /** The connection to the multiplexer was lost and is being made again. Another `open` or `close` follows. */
  reconnecting: Event;
}

/** The events of the connection to a multiplexer. */
export interface SpliceEvents {
  /** The connection is up, also after each loss. */
  open: Event;
  /** The connection failed. `close` follows. */
  error: Event;
  /** The connection was lost or closed. */
  close: SpliceCloseEvent;
  /** A warning of the multiplexer, for example 4004 for a message to a target that no longer exists. */
  warn: SpliceErrorEvent;
}

/** An `EventTarget` with typed events. */
export interface TypedEventTarget<Events> extends EventTarget {
  /** Adds a listener, as in `EventTarget`. */
  addEventListener<K extends keyof Events>(type: K, listener: (event: Events[K]) => unknown, options?: Listening): void;
  /** Adds a listener for any event. */
  addEventListener(...given: Parameters<EventTarget['addEventListener']>): void;
  /** Removes a listener, as in `EventTarget`. */
  removeEventListener<K extends keyof Events>(type: K, listener: (event: Events[K]) => unknown): void;
  /** Removes a listener for any event. */
  removeEventListener(...given: Parameters<EventTarget['removeEventListener']>): void;
}

type Listening = Parameters<EventTarget['addEventListener']>[2];
