/**
 * TCP servers with callbacks: each client is a connection with a buffer to take from and `write`. Framing is the application's.
 *
 * @module millrace/tcp
 */

export { TCPConnection } from './tcp/tcp-connection.js';
export type { TCPServerOptions } from './tcp/tcp-options.js';
export { createServer, type TCPCallback, TCPServer } from './tcp/tcp-server.js';
