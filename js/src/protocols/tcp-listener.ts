/** The options and handlers of a listener for raw TCP, and the plan that the native side gets. Types only. */

/** Options of a listener with `protocol: 'tcp'`. */
export interface TcpOptions {
  /** Messages over TCP or TLS, without another protocol. */
  protocol: 'tcp';
  /**
   * How messages are delimited. `'line'`: a message ends with a line feed. `'length'`: a message has its length in
   * front. `'none'`: data is passed on as it was received. There is no default.
   */
  framing: TcpFraming;
  /** With `framing: 'length'`: the number of bytes of the length, which is big-endian. Default 4. */
  lengthBytes?: 1 | 2 | 4;
  /**
   * With `framing: 'line'`: whether a first line that looks like an HTTP request is treated as a message. Default
   * false: it closes the connection, because a web page can make a browser send it.
   */
  allowHttp?: boolean;
}

/** How messages are delimited: see `framing`. */
export type TcpFraming = 'line' | 'length' | 'none';

/** Handlers of a worker module for listeners with `protocol: 'tcp'`. */
export interface TcpHandlers<Token = Uint8Array> {
  /**
   * Called when the client sends nothing more, although it may still read. The connection stays open until `close` is
   * called or `idleTimeoutMs` has passed. Without this handler, it is closed when everything before has been handled.
   */
  handleEnd?(socketId: number, token?: Token): void | Promise<void>;
}

/** The options in the form of the native side. */
export interface TcpPlan {
  framing: TcpFraming;
  /** Set only with `framing: 'length'`. */
  lengthBytes?: number;
  /** Set only with `framing: 'line'`. */
  allowHttp?: boolean;
}
