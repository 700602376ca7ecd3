/**
 * TCP servers with callbacks. Each client is a connection with a buffer of received data and a method `write`. Framing
 * is left to the application.
 *
 * @module millrace/tcp
 */

import './addon/floor.js';

export { TCPConnection } from './tcp/tcp-connection.js';
export type { TCPServerOptions } from './tcp/tcp-options.js';
export { createServer, type TCPCallback, TCPServer } from './tcp/tcp-server.js';
