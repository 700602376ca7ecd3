/** A WebSocket connection of the load tool: handshake, messages, end. */

import type { ClientRequest, IncomingMessage } from 'node:http';
import { type RawData, WebSocket } from 'ws';

/** The owner of a connection. */
export interface Listener {
  message(payload: Buffer): void;
  /** Reports the end, once. `code`: the code that the server closed with, or 1006 if it gave none. */
  ended(code: number): void;
}

/** A connection. It can be destroyed at any time. */
export class LoadConnection {
  readonly #socket: WebSocket;
  readonly #listener: Listener;
  readonly #compression: boolean;

  /** Starts connecting. With `compression`, every text is compressed, and the server has to agree. */
  constructor(url: URL, compression: boolean, listener: Listener) {
    this.#listener = listener;
    this.#compression = compression;
    const perMessageDeflate = compression && { threshold: 0 };
    this.#socket = new WebSocket(url, { maxPayload: LONGEST, perMessageDeflate, skipUTF8Validation: true });
    // errors are followed by `close`, and those of the handshake reject `open`
    this.#socket.on('error', () => {});
  }

  /**
   * Connects and performs the handshake, in at most `ms`. If that fails, the listener is not called.
   *
   * @throws {Error} with the reason in one line
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
      if (this.#compression && !socket.extensions.includes('permessage-deflate'))
        throw new Error('the server does not agree to compression');
    } catch (error) {
      socket.terminate();
      throw error;
    } finally {
      clearTimeout(timer);
    }
    socket.on('message', (data: RawData) => this.#listener.message(data as Buffer));
    socket.once('close', (code: number) => this.#listener.ended(code));
  }

  /** Sends a text message. */
  send(text: Buffer): void {
    this.#socket.send(text, TEXT);
  }

  /** Sends a Close frame. The server then ends the stream. */
  close(): void {
    this.#socket.close(1000);
  }

  /** Ends the connection at once. */
  destroy(): void {
    this.#socket.terminate();
  }
}

/** The payload is sent unchanged, as a text message. */
const TEXT = { binary: false };

const LONGEST = 16 * 1024 * 1024;
