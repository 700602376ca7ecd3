/** What the splice client is given, as types only. */

/** Pauses before a connection is made again, in milliseconds. */
export interface ReconnectOptions {
  /** The first; each further one is twice as long. 500 by default. */
  min?: number;
  /** The longest. 30,000 by default. */
  max?: number;
}

/** What is used of a `WebSocket`. */
export interface WebSocketLike {
  /** Is set to `arraybuffer`. */
  binaryType: string;
  /** Bytes that were sent and have not left. */
  readonly bufferedAmount: number;
  /** 0 to 3. */
  readonly readyState: number;
  /** Sends a message. */
  send(data: never): void;
  /** Closes it. */
  close(code?: number, reason?: string): void;
  /** Adds a listener. */
  addEventListener(type: 'open' | 'message' | 'error' | 'close', listener: (event: unknown) => void): void;
}

/** A class like `WebSocket`. */
export type WebSocketClass = new (url: string, protocols?: string | string[]) => WebSocketLike;

/** Options of `connect`. */
export interface ConnectOptions {
  /** Subprotocols to offer to the multiplexer itself. */
  protocols?: string | string[];
  /**
   * Whether a lost connection is made again, and the sockets that were open are opened again. By chance, up to half of each pause is
   * left out, so that many clients do not come back at once.
   */
  reconnect?: boolean | ReconnectOptions;
  /** The class to connect with, where there is no global `WebSocket`, as in Node.js 20, or another is wanted. */
  WebSocket?: WebSocketClass;
}

/** Options of a multiplexer's `open`. */
export interface OpenOptions {
  /** Subprotocols to offer to the target. */
  protocols?: string | string[];
  /** Headers for the handshake with the target, which no browser could set. */
  headers?: Record<string, string>;
  /** Milliseconds that the multiplexer may take to reach the target, at most its own bound. */
  timeout?: number;
}
