/** The options of the client. Types only. */

/** The members of a `WebSocket` that the client uses. */
export interface SocketLike {
  /** The client sets it to `'arraybuffer'`. */
  binaryType: string;
  /** At 2 (closing) and 3 (closed) the client sends nothing. */
  readonly readyState?: number | undefined;
  /** Sends a message. */
  send(data: never): void;
  /** Closes the connection. */
  close(code?: number): void;
  /** Adds a listener. */
  addEventListener(type: 'message' | 'error' | 'close', listener: (event: unknown) => void): void;
}

/** A class with the interface of `WebSocket`. */
export type SocketClass = new (url: string, protocols?: string | string[]) => SocketLike;

/** The members of a response of `fetch` that the client uses. */
export interface ResponseLike {
  /** The status of the response. */
  readonly status: number;
  /** The body as a stream. */
  readonly body: BodyLike | null;
}

/** The members of a `ReadableStream` of bytes that the client uses. */
export interface BodyLike {
  /** What reads the stream. */
  getReader(): ReaderLike;
}

/** The members of a stream's reader that the client uses. */
export interface ReaderLike {
  /** The next bytes, or the end. */
  read(): Promise<Chunk>;
}

/** Bytes of a stream, or its end. */
export interface Chunk {
  /** Whether the stream is over. */
  done: boolean;
  /** The bytes, unless it is over. */
  value?: Uint8Array | undefined;
}

/** A function with the interface of `fetch`. */
export type FetchLike = (
  url: string,
  init: { method: string; headers: Record<string, string>; body?: never; signal: AbortSignal },
) => Promise<ResponseLike>;

/** Options of `createClient`. */
export interface ClientOptions {
  /**
   * Called before each attempt to connect. Its value reaches the server as a subprotocol `token.<base64url>`, never in
   * the URL. If it rejects, the client tries again later; undefined is no token.
   */
  getToken?: (() => string | undefined | Promise<string | undefined>) | undefined;
  /** Subprotocols to offer besides `millrace.v1`. */
  protocols?: string[] | undefined;
  /**
   * What to do where WebSockets are blocked: behind a WebSocket that could not be opened, `'sse'` tries a stream of
   * Server-Sent Events, beside which it sends by `POST`. It needs a `fetch` whose bodies are streams, which React Native
   * does not have.
   */
  fallback?: 'sse' | undefined;
  /** The path of the event stream on the same host. Default `/events`. */
  eventsPath?: string | undefined;
  /** The class to connect with, where there is no global `WebSocket`, as in Node.js 20, or to use another one. */
  WebSocket?: SocketClass | undefined;
  /** The function to use instead of the global `fetch`. */
  fetch?: FetchLike | undefined;
}
