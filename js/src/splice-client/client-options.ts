/** The options of the splice client. Types only. */

/** The delays before a lost connection is made again, in milliseconds. */
export interface ReconnectOptions {
  /** The first delay. It doubles with each attempt. Default 500. */
  min?: number;
  /** The longest delay. Default 30,000. */
  max?: number;
}

/** The members of `WebSocket` that the client uses. */
export interface WebSocketLike {
  /** The client sets it to `'arraybuffer'`. */
  binaryType: string;
  /** Bytes that were sent and have not left yet. */
  readonly bufferedAmount: number;
  /** The state, 0 to 3. */
  readonly readyState: number;
  /** Sends a message. */
  send(data: never): void;
  /** Closes the connection. */
  close(code?: number, reason?: string): void;
  /** Adds a listener. */
  addEventListener(type: 'open' | 'message' | 'error' | 'close', listener: (event: unknown) => void): void;
}

/** A class with the interface of `WebSocket`. */
export type WebSocketClass = new (url: string, protocols?: string | string[]) => WebSocketLike;

/** Options of `connect`. */
export interface ConnectOptions {
  /** The subprotocols to offer to the multiplexer itself. */
  protocols?: string | string[];
  /**
   * Whether a lost connection is made again, and its sockets opened again. Each delay is shortened at random by up to a
   * half, so that many clients do not connect at the same time. After a close with the reason `retry=<ms>`, as a server
   * of Millrace sends it before it stops, the delay is that time instead.
   */
  reconnect?: boolean | ReconnectOptions;
  /** The class to connect with, if there is no global `WebSocket`, as in Node.js 20, or to use another one. */
  WebSocket?: WebSocketClass;
}

/** Options of a multiplexer's `open`. */
export interface OpenOptions {
  /** The subprotocols to offer to the target. */
  protocols?: string | string[];
  /** Headers for the handshake with the target. The client's own `WebSocket` could not send them from a browser. */
  headers?: Record<string, string>;
  /** How many milliseconds the multiplexer may take to reach the target. Its own limit still applies. */
  timeout?: number;
}
