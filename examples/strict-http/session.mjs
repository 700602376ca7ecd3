// @ts-check
/**
 * One connection: its requests, one after the other, and their answers, as fast as the client takes them. Has nothing
 * to do with paths and pages.
 */
import { HttpError } from './http-error.mjs';
import { REASONS } from './pages.mjs';
import { RequestReader } from './request.mjs';
import { problem } from './routes.mjs';

/** How long a connection may be silent: between and within requests; before the end of the first request, and with HTTP/1.0. */
const SILENCE_MS = 5000;
const FIRST_SILENCE_MS = 2000;
/** How long a request may take to arrive, even if its client keeps sending. */
const REQUEST_MS = 30_000;
const MOST_REQUESTS = 1000;
/** How many bytes of a file are read at a time. */
const PIECE = 64 * 1024;

const CONTINUE = Buffer.from('HTTP/1.1 100 Continue\r\n\r\n');

export class Session {
  #reader = new RequestReader();
  #requests = 0;
  #isBusy = false;
  /** Data has arrived that was not processed yet. */
  #hasMore = false;
  #silentSince = performance.now();
  #requestSince = performance.now();
  #resume = () => {};

  /**
   * @param {import('millrace/tcp').TCPConnection} connection
   * @param {{ answer: (request: import('./request.mjs').Request) => Promise<import('./routes.mjs').Answer>,
   *   log: import('./log.mjs').Log }} server
   */
  constructor(connection, server) {
    this.connection = connection;
    this.server = server;
  }

  /** Data has arrived: answers complete requests, unless that is already in progress. Resolves when it is done. */
  async advance() {
    this.#silentSince = performance.now();
    this.#hasMore = true;
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      while (this.#hasMore) {
        this.#hasMore = false;
        for (let request = await this.#next(); request !== undefined; request = await this.#next()) {
          await this.#respond(request);
        }
      }
    } finally {
      this.#isBusy = false;
    }
  }

  /** There is room for more of an answer, or the connection has ended. */
  resume() {
    this.#silentSince = performance.now();
    this.#resume();
  }

  /** Called once a second: closes a connection that is silent for too long. */
  look() {
    const now = performance.now();
    if (this.#isBusy) return;
    const isSilent = now - this.#silentSince > (this.#requests === 0 ? FIRST_SILENCE_MS : SILENCE_MS);
    const isLate = this.#reader.hasBegun && now - this.#requestSince > REQUEST_MS;
    if (!isSilent && !isLate) return;
    // No request has begun, so no answer is due.
    if (!this.#reader.hasBegun) this.connection.close();
    else this.#giveUp(new HttpError(408, 'The request did not come in time.'));
  }

  /** @param {HttpError} error */
  async #giveUp(error) {
    this.#isBusy = true;
    await this.#respond(this.#reader.broken(error));
  }

  /** The next complete request in the received data. */
  async #next() {
    const { connection } = this;
    if (connection.closed) return undefined;
    const reader = this.#reader;
    const wasNew = !reader.hasBegun;
    try {
      connection.bytes = connection.bytes.subarray(reader.take(connection.bytes));
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      return reader.broken(error);
    }
    if (wasNew) this.#requestSince = performance.now();
    const request = reader.request();
    if (request !== undefined) this.#reader = new RequestReader();
    else if (reader.expectsContinue()) await this.#write(CONTINUE);
    return request;
  }

  /** @param {import('./request.mjs').Request} request */
  async #respond(request) {
    const began = performance.now();
    this.#requests += 1;
    const answer = await this.server.answer(request).catch((error) => {
      this.server.log.error(error);
      return problem(request, 500, 'This went wrong.');
    });
    const { status, file } = answer;
    const keeps = request.keepAlive && answer.close !== true && this.#requests < MOST_REQUESTS;
    try {
      await this.#write(headOf(answer, keeps));
      if (request.method !== 'HEAD' && status !== 304) await this.#writeBody(answer);
    } finally {
      await file?.handle.close();
    }
    this.server.log.request(request, status, performance.now() - began);
    this.#silentSince = performance.now();
    if (!keeps) this.connection.close();
  }

  /** @param {import('./routes.mjs').Answer} answer */
  async #writeBody({ body, file }) {
    if (body !== undefined) await this.#write(body);
    if (file === undefined) return;
    const piece = Buffer.allocUnsafe(PIECE);
    for (let at = file.start; at < file.end; ) {
      const { bytesRead } = await file.handle.read(piece, 0, Math.min(PIECE, file.end - at), at);
      // The file has become shorter than announced: the client must notice that data is missing.
      if (bytesRead === 0) this.connection.close();
      if (this.connection.closed) return;
      await this.#write(piece.subarray(0, bytesRead));
      at += bytesRead;
    }
  }

  /** Writes all bytes, as fast as the client takes them. @param {Buffer} bytes */
  async #write(bytes) {
    let rest = bytes;
    while (rest.length > 0) {
      const taken = this.connection.write(rest);
      if (taken < 0) return;
      rest = rest.subarray(taken);
      if (rest.length > 0) {
        await new Promise((/** @type {(value?: undefined) => void} */ resolve) => {
          this.#resume = resolve;
        });
      }
    }
  }
}

/**
 * @param {import('./routes.mjs').Answer} answer
 * @param {boolean} keeps
 */
function headOf({ status, headers, body, file }, keeps) {
  const length = body?.length ?? (file === undefined ? 0 : file.end - file.start);
  const all = {
    Date: new Date().toUTCString(),
    ...headers,
    ...(status !== 304 && { 'Content-Length': String(length) }),
    ...(keeps
      ? { Connection: 'keep-alive', 'Keep-Alive': `timeout=${SILENCE_MS / 1000}, max=${MOST_REQUESTS}` }
      : { Connection: 'close' }),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`HTTP/1.1 ${status} ${REASONS[status] ?? 'Unknown'}\r\n${lines.join('')}\r\n`, 'latin1');
}
