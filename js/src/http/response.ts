/**
 * The answer in the form for handlers: status, headers, and one body or a stream. Does not own the connection.
 *
 * Over 400 lines because handlers have one object, and its members are those of one class.
 */

import type { ServerResponse } from 'node:http';
import encodeUrl from 'encodeurl';
import vary from 'vary';
import { write } from '../log/output.js';
import { readable } from '../log/report.js';
import type { AnswerStream, HttpExchange } from '../worker/exchange.js';
import type { FixedHeaders } from '../worker/fixed-headers.js';
import { isSource, type Piece, piecesOf, type Streamable } from '../worker/pieces.js';
import { pump } from '../worker/pump.js';
import type { RequestApp, RequestTerms } from './app-request.js';
import { type CookieOptions, renderCleared, renderCookie } from './cookies.js';
import { contentType, DEFAULTS, HeaderLines, type HeaderValue, HTML, isFit } from './header-lines.js';
import type { Failing } from './late-errors.js';
import { refuseMissing } from './missing.js';
import { isNamedOtherwise, statusText } from './status.js';

export type { Piece, Streamable } from '../worker/pieces.js';

/** The dispatch that waits for an answer. */
export interface Progress extends Failing {
  /** The answer has begun. */
  sent(): void;
  /** Makes the dispatch wait for work that the answer needs. If it fails, the request fails. */
  wait(work: Promise<unknown>): void;
}

/** One answer. The first call that sends it counts; later calls do nothing. */
export class Response {
  /** The status of the answer. Default 200. */
  statusCode = 200;
  readonly #exchange: HttpExchange;
  readonly #terms: RequestTerms;
  #progress: Progress | undefined;
  /** Undefined: the initial headers of every answer. */
  #headers: HeaderLines | undefined;
  /** The reason phrase, if it is not the name of the status. */
  #reason: string | undefined;
  #stream: AnswerStream | undefined;
  #sent = false;
  #ended = false;
  /** The bytes that were written in pieces. */
  #length = 0;
  /** The body that was sent whole. */
  #whole: string | Uint8Array | undefined;
  #locals: Record<string, unknown> | undefined;

  /** @internal */
  constructor(exchange: HttpExchange, terms: RequestTerms) {
    this.#exchange = exchange;
    this.#terms = terms;
  }

  static {
    // here, because only this class can read which response an instance belongs to
    refuseMissing(Response.prototype, 'res', (self) => (#progress in self ? self.#progress : undefined));
  }

  /** @internal Sets the dispatch that is told from now on. */
  tell(progress: Progress): void {
    this.#progress = progress;
  }

  /** Whether the answer has begun, or cannot be delivered any more. */
  get headersSent(): boolean {
    return this.#sent || this.#exchange.answered;
  }

  /** Whether the answer is complete, so that nothing more can be written. */
  get writableEnded(): boolean {
    return this.#ended || (this.#stream === undefined && this.headersSent);
  }

  /** The app that handles the request, for its settings and `locals`. */
  get app(): RequestApp {
    return this.#terms.app;
  }

  /** The reason phrase of the status line. Default: the name of the status. HTTP/2 does not send it. */
  get statusMessage(): string {
    return this.#reason ?? statusText(this.statusCode);
  }

  /** @throws {TypeError} if it has a line break, another control character or a character outside of Latin-1 */
  set statusMessage(value: string | undefined) {
    if (value !== undefined && (typeof value !== 'string' || !isFit(value))) {
      throw new TypeError(`statusMessage must be Latin-1 text without line breaks, not ${JSON.stringify(value)}`);
    }
    // as in Node.js, an empty reason phrase means the default
    this.#reason = value || undefined;
  }

  /** Data that middlewares pass on to later handlers. */
  get locals(): Record<string, unknown> {
    this.#locals ??= Object.create(null) as Record<string, unknown>;
    return this.#locals;
  }

  /** Replaces the data. */
  set locals(value: Record<string, unknown>) {
    this.#locals = value;
  }

  /**
   * Sets the status.
   *
   * @throws {TypeError} if it is not a whole number from 200 to 599
   */
  status(code: number): this {
    if (!Number.isInteger(code) || code < 200 || code > 599) {
      throw new TypeError(`status: argument 'code' must be a whole number from 200 to 599, not ${readable(code)}`);
    }
    this.statusCode = code;
    return this;
  }

  /**
   * Sets one or several headers. Names may be in any case. An array makes one line of each item.
   *
   * @throws {TypeError} if a name is not a token, or a value has a line break, another control character or a character
   *   outside of Latin-1
   */
  set(name: string, value: HeaderValue): this;
  set(headers: Record<string, HeaderValue>): this;
  set(name: string | Record<string, HeaderValue>, value?: HeaderValue): this {
    const lines = this.#own();
    if (typeof name === 'object' && name !== null) {
      for (const [one, its] of Object.entries(name)) lines.set(one, its);
    } else {
      lines.set(name, value);
    }
    return this;
  }

  /** The same as `set`. */
  header(name: string, value: HeaderValue): this;
  header(headers: Record<string, HeaderValue>): this;
  header(name: string | Record<string, HeaderValue>, value?: HeaderValue): this {
    return this.set(name as string, value as HeaderValue);
  }

  /** Returns a header that was set. Several lines are joined with commas. */
  get(name: string): string | undefined {
    return this.#lines().find(name)?.join(', ');
  }

  /**
   * Adds a line to a header.
   *
   * @throws {TypeError} as `set`
   */
  append(name: string, value: HeaderValue): this {
    this.#own().append(name, value);
    return this;
  }

  /** Removes a header. */
  remove(name: string): this {
    this.#own().drop(name);
    return this;
  }

  /** As in Node.js: sets one header. */
  setHeader(name: string, value: HeaderValue): this {
    return this.set(name, value);
  }

  /** As in Node.js: the same as `append`. */
  appendHeader(name: string, value: string | readonly string[]): this {
    return this.append(name, value);
  }

  /** As in Node.js: returns a header's value, or an array if it has several lines. */
  getHeader(name: string): string | string[] | undefined {
    return oneOrMore(this.#lines().find(name));
  }

  /** As in Node.js: returns the headers that were set, by name in lower case. */
  getHeaders(): Record<string, string | string[]> {
    const headers: Record<string, string | string[]> = Object.create(null);
    for (const { key, values } of this.#lines().all()) headers[key] = oneOrMore(values) as string | string[];
    return headers;
  }

  /** As in Node.js: returns the names of the headers that were set, in lower case. */
  getHeaderNames(): string[] {
    return this.#lines()
      .all()
      .map(({ key }) => key);
  }

  /** As in Node.js: returns whether a header was set. */
  hasHeader(name: string): boolean {
    return this.#lines().find(name) !== undefined;
  }

  /** As in Node.js: removes a header. */
  removeHeader(name: string): void {
    this.remove(name);
  }

  /**
   * Adds names of request headers that the answer depends on to `Vary`, unless they are in it.
   *
   * @throws {TypeError} if it is not a header name
   */
  vary(field: string | string[]): this {
    vary(this as unknown as ServerResponse, field);
    return this;
  }

  /**
   * Sets `Location`. Characters that a URL cannot have are percent-encoded.
   *
   * @throws {TypeError} if the URL has a line break or another control character
   */
  location(url: string): this {
    return this.set('Location', escapedUrl(url));
  }

  /** Sets the content type: `'text/css'`, `'application/json; charset=utf-8'`. */
  type(value: string): this {
    return this.set('Content-Type', value);
  }

  /**
   * Sends a body. A string or bytes are sent unchanged, undefined as an empty body, objects, arrays and null as JSON,
   * and everything else as its text.
   */
  send(body?: unknown): this {
    if (typeof body === 'string' || body === undefined) return this.#send(body);
    if (typeof body === 'object') {
      const bytes = bytesOf(body);
      if (bytes === undefined) return this.#isTyped() ? this.#send(JSON.stringify(body)) : this.json(body);
      return this.#send(bytes, BINARY);
    }
    return this.#send(String(body));
  }

  /** Sends a value as JSON, optionally with a status. */
  json(value: unknown, status?: number): this {
    const text = JSON.stringify(value);
    if (status !== undefined) this.status(status);
    return this.#send(text, JSON_);
  }

  /** Sends HTML. */
  html(text: string): this {
    return this.#send(String(text), HTML, true);
  }

  /** Sends plain text. */
  text(text: string): this {
    return this.#send(String(text), TEXT, true);
  }

  /**
   * Redirects the client with status 302, or 301 if `permanent`. As in Express, the status may be the first argument.
   *
   * @throws {TypeError} if the URL has a line break or another control character
   */
  redirect(url: string, permanent?: boolean): this;
  redirect(status: number, url: string): this;
  redirect(first: string | number, second?: boolean | string): this {
    const [code, url] = typeof first === 'number' ? [first, String(second)] : [second ? 301 : 302, String(first)];
    this.status(code).location(url);
    return this.text(`Redirecting to ${url}`);
  }

  /** Sends a status, with its name as the body. */
  sendStatus(code: number): this {
    return this.status(code).text(`${code} ${statusText(code)}`);
  }

  /**
   * Sets a cookie. Its value is percent-encoded. Objects are sent as JSON with the prefix `j:`.
   *
   * @throws {TypeError} naming the part that a cookie cannot have
   * @throws {MillraceError} ERR_MILLRACE_NO_COOKIE_SECRET if the cookie is to be signed and the app has no
   *   `cookieSecret`
   */
  cookie(name: string, value: unknown, options?: CookieOptions): this {
    return this.append('Set-Cookie', renderCookie(name, value, options, this.#terms.cookieSecrets));
  }

  /** Deletes a cookie. Path and domain must be those that the cookie was set with. */
  clearCookie(name: string, options?: CookieOptions): this {
    return this.append('Set-Cookie', renderCleared(name, options, this.#terms.cookieSecrets));
  }

  /** Forbids all caches to store the answer. */
  setNoCache(): this {
    return this.set('Cache-Control', 'no-store, no-cache, must-revalidate, proxy-revalidate')
      .set('Pragma', 'no-cache')
      .set('Expires', '0');
  }

  /** Allows all caches to store the answer for some seconds. Default 3600. */
  setCache(seconds = 3600): this {
    return this.set('Cache-Control', `public, max-age=${seconds}`);
  }

  /** Allows pages of another origin to read the answer. Default: of any origin. */
  setCors(origin = '*'): this {
    return this.set('Access-Control-Allow-Origin', origin)
      .set('Access-Control-Allow-Methods', 'GET, POST, PUT, DELETE, OPTIONS')
      .set('Access-Control-Allow-Headers', 'Content-Type, Authorization')
      .set('Access-Control-Allow-Credentials', 'true');
  }

  /** Ends the answer. If nothing was sent, it is sent with this body, or with an empty one. */
  end(body?: Piece): this {
    if (this.#stream === undefined) return this.#send(body);
    if (body !== undefined) this.#stream.write(body);
    this.#stream.end();
    this.#ended = true;
    return this;
  }

  /**
   * Sends a piece of the body. The first piece sends the headers. `end` completes the answer.
   *
   * @returns false if enough is queued; wait for `drained()` before you continue
   */
  write(piece: Piece): boolean {
    const stream = this.#begin();
    if (stream === undefined) return true;
    this.#length += bytesIn(piece);
    return stream.write(piece);
  }

  /** Resolves when more may be written, or when the answer cannot be delivered any more. */
  async drained(): Promise<void> {
    await this.#stream?.drained();
  }

  /**
   * Sends everything in a stream as fast as the client reads it, and ends the answer. If the client leaves, the stream
   * is cancelled. If the stream fails before its first piece, the request fails as if a handler had; if it fails later,
   * the connection is cut. The promise may be ignored and does not reject. It resolves with whether the whole stream
   * was sent.
   *
   * @throws {TypeError} if the argument is not a stream
   */
  stream(source: Streamable): Promise<boolean> {
    if (!isSource(source)) {
      const what = 'a web stream, one of Node, a generator or another iterable';
      throw new TypeError(`stream: argument 'source' must be ${what}, not ${readable(source)}`);
    }
    const pieces = piecesOf(source);
    if (this.headersSent) {
      pieces.cancel();
      return Promise.resolve(false);
    }
    const sending = pump(this.#exchange, this.statusCode, pieces, {
      whole: (body) => void this.#send(body),
      begin: () => this.#counted(),
    });
    this.#progress?.wait(sending);
    return sending.catch(() => false);
  }

  /** Prints the status, the headers and how much was sent to the standard output. */
  debug(): this {
    const headers = this.#list().reduce((text, part, at) => text + (at % 2 === 0 ? `  ${part}: ` : `${part}\n`), '');
    const sent = this.headersSent ? 'sent' : 'not sent';
    write(
      process.stdout,
      `${this.statusCode} ${statusText(this.statusCode)}, ${sent}, ${this.#length + bytesIn(this.#whole)} bytes\n${headers}`,
    );
    return this;
  }

  /** @internal Discards what a failed handler has prepared, and cuts an answer that has begun. */
  fail(status: number, text: string): void {
    if (this.#stream !== undefined) this.#stream.abort();
    if (this.headersSent) return;
    this.#headers = undefined;
    this.#reason = undefined;
    this.statusCode = status;
    if (status >= 500) this.set('Connection', 'close');
    this.set('Content-Type', 'text/plain').#send(text);
  }

  /** The headers for reading. */
  #lines(): HeaderLines {
    return this.#headers ?? DEFAULTS;
  }

  /** The headers for changing. */
  #own(): HeaderLines {
    this.#headers ??= new HeaderLines();
    return this.#headers;
  }

  #isTyped(): boolean {
    return this.#headers?.isTyped === true;
  }

  #begin(): AnswerStream | undefined {
    if (this.#stream !== undefined || this.headersSent) return this.#stream;
    this.#stream = this.#exchange.respondStream(this.statusCode, this.#list());
    this.#sent = true;
    this.#progress?.sent();
    return this.#stream;
  }

  /** The stream of the body, which counts its bytes. Undefined: something else was sent. */
  #counted(): AnswerStream | undefined {
    const stream = this.#begin();
    return (
      stream && {
        write: (piece) => this.write(piece),
        drained: () => stream.drained(),
        end: () => void this.end(),
        abort: () => stream.abort(),
      }
    );
  }

  /** `type` is used if the handler has not chosen a type, or in any case with `always`. */
  #send(body: string | Uint8Array | undefined, type = HTML, always = false): this {
    if (this.headersSent) return this;
    let headers: FixedHeaders | string[] = type.headers;
    if (this.#headers !== undefined || this.#reason !== undefined || isNamedOtherwise(this.statusCode)) {
      if (always || (type !== HTML && !this.#isTyped())) this.#own().put(type.line);
      // the gateway computes the length, except that of a body that is not sent
      headers = this.#list(body === undefined && this.#exchange.method === 'HEAD' ? undefined : 'content-length');
    }
    this.#exchange.respond(this.statusCode, headers, body);
    this.#sent = true;
    this.#whole = body;
    this.#progress?.sent();
    return this;
  }

  #list(without?: string): string[] {
    const list = this.#lines().list(without);
    if (this.#reason !== undefined || isNamedOtherwise(this.statusCode)) list.push(REASON, this.statusMessage);
    return list;
  }
}

function oneOrMore(values: readonly string[] | undefined): string | string[] | undefined {
  return values?.length === 1 ? values[0] : values && [...values];
}

function bytesIn(body: string | Uint8Array = ''): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.length;
}

function bytesOf(body: object | null): Uint8Array | undefined {
  if (body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  return ArrayBuffer.isView(body) ? new Uint8Array(body.buffer, body.byteOffset, body.byteLength) : undefined;
}

/** A URL in the form for a header. A URL with a line break is an error. */
function escapedUrl(url: string): string {
  if (CONTROL.test(url)) throw new TypeError(`header 'Location' must be a URL, not ${JSON.stringify(url)}`);
  return encodeUrl(url);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds control characters
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/;

/** The name under which the reason phrase is passed among the headers. No header can have this name. */
const REASON = ':reason';

const TEXT = contentType('text/plain; charset=utf-8');
const JSON_ = contentType('application/json; charset=utf-8');
const BINARY = contentType('application/octet-stream');
