/**
 * `attach`: takes WebSocket handshakes from a server of `node:http`, with their connections. Owns the servers' listeners
 * for `'upgrade'` events. Judges no handshake: the gateway does, as on a listener of its own.
 */

import { Server as HttpServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { Server as NetServer, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket, Server as TlsServer } from 'node:tls';
import { whyNoDescriptors } from '../addon/runtime.js';
import { MillraceError } from '../errors.js';
import { nothing } from '../log/quiet.js';
import { readable } from '../log/report.js';

/** Where the connections of a server go. */
export interface Attachment {
  /** The paths whose handshakes it takes. Undefined: all. */
  readonly paths: readonly string[] | undefined;
  /** How long a handshake may wait for the answers to requests before it, in ms. Then its connection is closed. */
  readonly waitMs: number | undefined;
  /**
   * Takes over a connection with the bytes that were read from it. Its socket is destroyed afterwards. False: the peer has
   * left, or the gateway takes no more connections.
   */
  adopt(socket: Socket, bytes: Buffer): boolean;
  /** Reports that a connection could not be taken over. */
  report(error: MillraceError): void;
}

/**
 * Checks whether connections of a server can be taken over.
 *
 * @throws {TypeError} if it is no server of `node:http`
 * @throws {MillraceError} ERR_MILLRACE_CANNOT_ATTACH
 */
export function checkServer(server: unknown): HttpServer {
  const why = whyNoDescriptors();
  if (why !== undefined) throw cannot(`${why}; let Millrace listen on a port of its own`);
  if (server instanceof HttpServer) return server;
  // servers of node:https and node:http2 are not HttpServers
  if (server instanceof TlsServer)
    throw cannot('the server speaks TLS; let a proxy do that, or Millrace on a port of its own');
  // node:http2 exports no class for it
  if (server instanceof NetServer && server.constructor.name === 'Http2Server')
    throw cannot('the server speaks HTTP/2, whose connections are shared; let Millrace listen on a port of its own');
  throw new TypeError(`argument 'server' must be a server of node:http, not ${readable(server)}`);
}

/** Takes the handshakes of a server until the result is called. Handshakes on other paths stay with other listeners. */
export function takeUpgrades(server: HttpServer, attachment: Attachment): () => void {
  let upgrades = known.get(server);
  if (upgrades === undefined) {
    upgrades = new Upgrades(server);
    known.set(server, upgrades);
  }
  return upgrades.add(attachment);
}

/** The attachments of a server. All share one listener, which can tell when no other one takes a handshake. */
class Upgrades {
  readonly #server: HttpServer;
  readonly #attachments = new Set<Attachment>();

  constructor(server: HttpServer) {
    this.#server = server;
  }

  add(attachment: Attachment): () => void {
    if (this.#attachments.size === 0) this.#server.on('upgrade', this.#taken);
    this.#attachments.add(attachment);
    return () => {
      this.#attachments.delete(attachment);
      if (this.#attachments.size === 0) this.#server.off('upgrade', this.#taken);
    };
  }

  readonly #taken = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const attachment = this.#find(request);
    if (attachment !== undefined) handOver(request, socket, head, attachment);
    else if (this.#server.listenerCount('upgrade') === 1) refuse(socket, isHandshake(request) ? 404 : 400);
  };

  /** The attachment that takes a handshake: the first one with its path, or else the first one without paths. */
  #find(request: IncomingMessage): Attachment | undefined {
    if (!isHandshake(request)) return undefined;
    const [path] = (request.url ?? '').split('?', 1) as [string];
    const all = [...this.#attachments];
    return all.find(({ paths }) => paths?.includes(path)) ?? all.find(({ paths }) => paths === undefined);
  }
}

/** Passes a connection on as soon as the requests before the handshake are answered and all is sent. */
function handOver(request: IncomingMessage, socket: Duplex, head: Buffer, attachment: Attachment): void {
  // nobody else listens any more
  socket.on('error', nothing);
  if (!(socket instanceof Socket) || socket instanceof TLSSocket) {
    attachment.report(
      cannot(`the connection of an upgrade is ${readable(socket?.constructor?.name)}, no plain net.Socket`),
    );
    socket.destroy();
    return;
  }
  whenAnswered(socket, attachment.waitMs ?? HANDSHAKE_TIMEOUT_MS, () => pass(request, socket, head, attachment));
}

function pass(request: IncomingMessage, socket: Socket, head: Buffer, attachment: Attachment): void {
  const pieces = [headOf(request), head];
  // what arrived since the handshake was parsed
  const rest: unknown = socket.read();
  if (Buffer.isBuffer(rest)) pieces.push(rest);
  try {
    if (!attachment.adopt(socket, Buffer.concat(pieces))) return refuse(socket, 503);
  } catch (error) {
    attachment.report(error as MillraceError);
  }
  // closes this side's descriptor only; the connection itself stays open as long as the gateway's is
  socket.destroy();
}

/**
 * Calls `next` when no answer to an earlier request is outstanding on a connection. What arrives meanwhile stays in the
 * socket's buffer. After `ms` the connection is closed.
 */
function whenAnswered(socket: Socket, ms: number, next: () => void): void {
  if (responseOf(socket) === undefined && socket.writableLength === 0) return next();
  socket.pause();
  const timer = setTimeout(() => socket.destroy(), ms);
  // Node.js no longer tells a response of this connection that it may write on
  const onDrain = (): void => void responseOf(socket)?.emit('drain');
  const over = (): void => {
    clearTimeout(timer);
    socket.off('drain', onDrain);
  };
  socket.on('drain', onDrain);
  socket.once('close', over);
  const look = (): void => {
    // otherwise an answer has ended the connection
    if (!socket.writable) return;
    const response = responseOf(socket);
    if (response !== undefined) response.once('close', look);
    else if (socket.writableLength > 0) socket.write('', look);
    else {
      over();
      next();
    }
  };
  look();
}

/** The response that Node.js has for the connection: the first of those that have not ended. */
function responseOf(socket: Socket): ServerResponse | undefined {
  return (socket as Socket & { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;
}

/** The head of a request as it was sent. */
function headOf({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) text += `${rawHeaders[at]}: ${rawHeaders[at + 1]}\r\n`;
  return Buffer.from(`${text}\r\n`, 'latin1');
}

function isHandshake({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}

/** Answers an upgrade that nobody takes. */
function refuse(socket: Duplex, status: number): void {
  socket.on('error', nothing);
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, 'Connection: close', 'Content-Length: 0', '', ''];
  socket.once('finish', () => socket.destroy());
  socket.end(lines.join('\r\n'));
}

function cannot(why: string): MillraceError {
  return new MillraceError('ERR_MILLRACE_CANNOT_ATTACH', why);
}

/** The default of `limits.handshakeTimeoutMs`. */
const HANDSHAKE_TIMEOUT_MS = 10_000;

const known = new WeakMap<HttpServer, Upgrades>();
