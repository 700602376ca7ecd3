/** The options and handlers of a listener for raw TCP, and the plan that the native side gets. Types only. */

/** Options of a listener with `protocol: 'tcp'`. */
export interface TcpOptions {
  /** Messages over TCP, or TLS, without another protocol. */
  protocol: 'tcp';
  /**
   * What a message is: `'line'` ends with a line feed, `'length'` has its length in front, and with `'none'` whatever came in
   * is passed on as it came. There is no default.
   */
  framing: TcpFraming;
  /** With `framing: 'length'`: how many bytes the length has, the highest first. Default 4. */
  lengthBytes?: 1 | 2 | 4;
  /**
   * With `framing: 'line'`: whether a first line that looks like a request of HTTP is a message. Default false: it closes the
   * connection, because a web page can make a browser send it.
   */
  allowHttp?: boolean;
}

/** How messages are told apart. */
export type TcpFraming = 'line' | 'length' | 'none';

/** Handlers of a worker module for listeners with `protocol: 'tcp'`. */
export interface TcpHandlers<Token = Uint8Array> {
  /**
   * The client sends nothing more, but may still read. The connection stays until `close` is called or `idleTimeoutMs` has
   * passed. Without this handler it is closed when all that came before is handled.
   */
  handleEnd?(socketId: number, token?: Token): void | Promise<void>;
}

/** What the native side is told. */
export interface TcpPlan {
  framing: TcpFraming;
  /** Only with `framing: 'length'`. */
  lengthBytes?: number;
  /** Only with `framing: 'line'`. */
  allowHttp?: boolean;
}
