/** A WebSocket connection of the load tool: handshake, messages, end. Owns the limits of a client that only measures. */

import type { ClientRequest, IncomingMessage } from 'node:http';
import { type RawData, WebSocket } from 'ws';

/** Who listens to a connection. */
export interface Listener {
  message(payload: Buffer): void;
  /** It ended; once. `code`: what the server closed with, 1006 where it did not say. */
  ended(code: number): void;
}

/** A connection, from its first packet on. It can be destroyed at any time. */
export class LoadConnection {
  readonly #socket: WebSocket;
  readonly #listener: Listener;

  /** Begins to connect. */
  constructor(url: URL, listener: Listener) {
    this.#listener = listener;
    this.#socket = new WebSocket(url, { maxPayload: LONGEST, perMessageDeflate: false, skipUTF8Validation: true });
    // what goes wrong ends in `close`, and during the handshake in its error
    this.#socket.on('error', () => {});
  }

  /**
   * Connects and shakes hands, for at most `ms`. The listener is told nothing of a connection that does not open.
   *
   * @throws {Error} that says in one line why not
   */
  async open(ms: number): Promise<void> {
    const socket = this.#socket;
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        timer = setTimeout(() => reject(new Error(`no answer to the handshake within ${ms} ms`)), ms);
        socket.once('open', () => resolve());
        socket.once('error', reject);
        socket.once('unexpected-response', (_request: ClientRequest, answer: IncomingMessage) => {
          const { httpVersion, statusCode, statusMessage } = answer;
          reject(new Error(`the server answered HTTP/${httpVersion} ${statusCode} ${statusMessage}`));
        });
      });
    } catch (error) {
      socket.terminate();
      throw error;
    } finally {
      clearTimeout(timer);
    }
    socket.on('message', (data: RawData) => this.#listener.message(data as Buffer));
    socket.once('close', (code: number) => this.#listener.ended(code));
  }

  /** Sends a text. */
  send(text: Buffer): void {
    this.#socket.send(text, TEXT);
  }

  /** Says goodbye; the server ends the stream. */
  close(): void {
    this.#socket.close(1000);
  }

  /** Ends it at once. */
  destroy(): void {
    this.#socket.terminate();
  }
}

/** Bytes that are sent as they are, in a message of text. */
const TEXT = { binary: false };

const LONGEST = 16 * 1024 * 1024;
