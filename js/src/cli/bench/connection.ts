/**
 * A WebSocket connection of the load tool: handshake, messages, end. Every runtime's own client would do, but Node.js
 * 20 has none, and all of them hide what a handshake failed with.
 */

import { createHash, randomBytes } from 'node:crypto';
import net from 'node:net';
import tls from 'node:tls';
import { CLOSE, clientFrame, PING, PONG, ServerFrames, type ServerMessage } from './frames.js';

/** Who listens to a connection. */
export interface Listener {
  message(payload: Buffer, opcode: number): void;
  /** It ended; once. `code`: what the server closed with, 1006 where it did not say. */
  ended(code: number): void;
}

/** A connection, from its first packet on. It can be destroyed at any time. */
export class LoadConnection {
  readonly #url: URL;
  readonly #socket: net.Socket;
  readonly #frames = new ServerFrames();
  readonly #listener: Listener;
  #code = 1006;

  /** Begins to connect. */
  constructor(url: URL, listener: Listener) {
    this.#url = url;
    this.#socket = connect(url);
    this.#listener = listener;
  }

  /**
   * Connects and shakes hands, for at most `ms`. The listener is told nothing of a connection that does not open.
   *
   * @throws {Error} that says in one line why not
   */
  async open(ms: number): Promise<void> {
    const socket = this.#socket;
    const timer = setTimeout(() => socket.destroy(new Error(`no answer to the handshake within ${ms} ms`)), ms);
    try {
      const early = await shakeHands(socket, this.#url);
      socket.on('data', (bytes: Buffer) => this.#read(bytes));
      socket.once('close', () => this.#listener.ended(this.#code));
      if (early.length > 0) this.#read(early);
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Sends a whole frame. */
  send(frame: Buffer): void {
    this.#socket.write(frame);
  }

  /** Says goodbye; the server ends the stream. */
  close(): void {
    this.#socket.write(GOODBYE);
  }

  /** Ends it at once. */
  destroy(): void {
    this.#socket.destroy();
  }

  #read(bytes: Buffer): void {
    try {
      this.#frames.read(bytes, (message) => this.#heed(message));
    } catch {
      // it does not speak WebSocket: 1006
      this.#socket.destroy();
    }
  }

  #heed({ opcode, payload }: ServerMessage): void {
    if (opcode === PING) this.#socket.write(clientFrame(PONG, payload));
    else if (opcode === CLOSE) {
      this.#code = payload.length < 2 ? 1005 : payload.readUInt16BE(0);
      this.#socket.end(clientFrame(CLOSE, payload.subarray(0, 2)));
    } else if (opcode !== PONG) this.#listener.message(payload, opcode);
  }
}

function connect(url: URL): net.Socket {
  const secure = url.protocol === 'wss:';
  // an IPv6 address stands in brackets
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port || (secure ? 443 : 80));
  const socket = secure ? tls.connect({ host, port, servername: net.isIP(host) ? '' : host }) : net.connect(port, host);
  socket.setNoDelay(true);
  // what goes wrong ends in `close`, and during the handshake in its error
  socket.on('error', () => {});
  return socket;
}

/** Resolves to what came right behind the answer. */
function shakeHands(socket: net.Socket, url: URL): Promise<Buffer> {
  const key = randomBytes(16).toString('base64');
  socket.write(
    `GET ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      `Sec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13\r\n\r\n`,
  );
  return new Promise((resolve, reject) => {
    let head: Buffer = Buffer.alloc(0);
    const fail = (error: Error): void => reject(error);
    const end = (): void => reject(new Error('the server ended the connection during the handshake'));
    const read = (bytes: Buffer): void => {
      head = Buffer.concat([head, bytes]);
      const last = head.indexOf('\r\n\r\n');
      if (last < 0 && head.length <= LONGEST_HEAD) return;
      socket.off('data', read).off('error', fail).off('close', end);
      const problem = judge(head.toString('latin1', 0, Math.max(last, 0)), key);
      if (problem === undefined) resolve(head.subarray(last + 4));
      else reject(new Error(problem));
    };
    socket.on('data', read).once('error', fail).once('close', end);
  });
}

/** What is wrong with an answer. */
function judge(head: string, key: string): string | undefined {
  const [status = '', ...lines] = head.split('\r\n');
  if (!status.startsWith('HTTP/1.1 101')) return `the server answered ${status === '' ? 'no HTTP' : status}`;
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  const right = lines.some((line) => {
    const [name, value] = line.split(/:\s*/, 2);
    return name?.toLowerCase() === 'sec-websocket-accept' && value?.trim() === accept;
  });
  return right ? undefined : 'the server answered with a wrong Sec-WebSocket-Accept';
}

const GOODBYE = clientFrame(CLOSE, Buffer.from([0x03, 0xe8]));
const LONGEST_HEAD = 16 * 1024;
