/** What sockets and multiplexers of the splice client tell, as types only. */

/** What is used of a `CloseEvent`. */
export interface SpliceCloseDetails extends Event {
  /** The code that the target closed with; 1005 if it gave none, 1006 if the end was unclean. */
  readonly code: number;
  /** The reason that it gave. */
  readonly reason: string;
  /** Whether the target ended the connection as it should. */
  readonly wasClean: boolean;
}

/** `CloseEvent`, where the platform's types have it. */
export type SpliceCloseEvent =
  typeof globalThis extends Record<'CloseEvent', new (...given: never) => infer Instance>
    ? Instance
    : SpliceCloseDetails;

/** Says why, where the multiplexer did. */
export interface SpliceErrorEvent extends Event {
  /** The multiplexer's code: 4005 to 4007 say that the target was refused or not reached. */
  readonly code?: number;
  /** The multiplexer's words, for people. */
  readonly message?: string;
}

/** What a socket tells. */
export interface SpliceSocketEvents {
  /** It can send. */
  open: Event;
  /** A message came: its `data` is a string, or what `binaryType` says. */
  message: MessageEvent;
  /** It failed; `close` follows. */
  error: SpliceErrorEvent;
  /** It is over. */
  close: SpliceCloseEvent;
  /** The connection to the multiplexer was lost and is made again; another `open` follows, or `close`. */
  reconnecting: Event;
}

/** What the connection to a multiplexer tells. */
export interface SpliceEvents {
  /** It is up. Again after each loss. */
  open: Event;
  /** It failed; `close` follows. */
  error: Event;
  /** It was lost, or is closed. */
  close: SpliceCloseEvent;
  /** The multiplexer warns, for example with 4004 of a message to a target that is gone. */
  warn: SpliceErrorEvent;
}

/** An `EventTarget` whose events have types. */
export interface TypedEventTarget<Events> extends EventTarget {
  /** Adds a listener, as that of `EventTarget`. */
  addEventListener<K extends keyof Events>(type: K, listener: (event: Events[K]) => unknown, options?: Listening): void;
  /** Adds a listener of any event. */
  addEventListener(...given: Parameters<EventTarget['addEventListener']>): void;
  /** Removes a listener, as that of `EventTarget`. */
  removeEventListener<K extends keyof Events>(type: K, listener: (event: Events[K]) => unknown): void;
  /** Removes a listener of any event. */
  removeEventListener(...given: Parameters<EventTarget['removeEventListener']>): void;
}

type Listening = Parameters<EventTarget['addEventListener']>[2];
