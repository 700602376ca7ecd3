/**
 * The answer, as handlers make it: status, headers, one body or a stream. Owns nothing of the connection.
 *
 * Over 400 lines because handlers have one object, and its members are those of one class.
 */

import type { ServerResponse } from 'node:http';
import encodeUrl from 'encodeurl';
import vary from 'vary';
import { write } from '../log/output.js';
import { readable } from '../log/report.js';
import type { AnswerStream, HttpExchange } from '../worker/exchange.js';
import { isSource, type Piece, piecesOf, type Streamable } from '../worker/pieces.js';
import { pump } from '../worker/pump.js';
import type { RequestApp, RequestTerms } from './app-request.js';
import { type CookieOptions, renderCleared, renderCookie } from './cookies.js';
import { contentType, DEFAULTS, HeaderLines, type HeaderValue, HTML, isFit } from './header-lines.js';
import type { Failing } from './late-errors.js';
import { refuseMissing } from './missing.js';
import { isNamedOtherwise, statusText } from './status.js';

export type { Piece, Streamable } from '../worker/pieces.js';

/** Who waits for an answer. */
export interface Progress extends Failing {
  /** It has begun. */
  sent(): void;
  /** It needs this, and fails with it. */
  wait(work: Promise<unknown>): void;
}

/** One answer. The first call that sends counts, later ones do nothing. */
export class Response {
  /** The status of the answer. Default 200. */
  statusCode = 200;
  readonly #exchange: HttpExchange;
  readonly #terms: RequestTerms;
  #progress: Progress | undefined;
  /** undefined: those that every answer begins with. */
  #headers: HeaderLines | undefined;
  /** What the status line says instead of the status's name. */
  #reason: string | undefined;
  #stream: AnswerStream | undefined;
  #sent = false;
  #ended = false;
  #length = 0;
  #locals: Record<string, unknown> | undefined;

  /** @internal */
  constructor(exchange: HttpExchange, terms: RequestTerms) {
    this.#exchange = exchange;
    this.#terms = terms;
  }

  static {
    // here, because only the class can read whose request it is
    refuseMissing(Response.prototype, 'res', (self) => (#progress in self ? self.#progress : undefined));
  }

  /** @internal Who is told from now on. */
  tell(progress: Progress): void {
    this.#progress = progress;
  }

  /** Whether the answer has begun, or nobody waits for it any more. */
  get headersSent(): boolean {
    return this.#sent || this.#exchange.answered;
  }

  /** Whether the whole answer was given: nothing can be written any more. */
  get writableEnded(): boolean {
    return this.#ended || (this.#stream === undefined && this.headersSent);
  }

  /** The app that handles the request, for its settings. */
  get app(): RequestApp {
    return this.#terms.app;
  }

  /** What the status line says of the status: its name, unless set. HTTP/2 has no room for it. */
  get statusMessage(): string {
    return this.#reason ?? statusText(this.statusCode);
  }

  /** @throws {TypeError} if it has a line break, another control character or one beyond Latin-1 */
  set statusMessage(value: string | undefined) {
    if (value !== undefined && (typeof value !== 'string' || !isFit(value))) {
      throw new TypeError(`statusMessage must be Latin-1 text without line breaks, not ${JSON.stringify(value)}`);
    }
    // as in Node, an empty one is none
    this.#reason = value || undefined;
  }

  /** For middlewares, to hand something to later ones. */
  get locals(): Record<string, unknown> {
    this.#locals ??= {};
    return this.#locals;
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
   * Sets a header, or several; the names in any case. An array makes a line of each.
   *
   * @throws {TypeError} if a name is no token, or a value has a line break, another control character or none of Latin-1
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

  /** As `set`. */
  header(name: string, value: HeaderValue): this;
  header(headers: Record<string, HeaderValue>): this;
  header(name: string | Record<string, HeaderValue>, value?: HeaderValue): this {
    return this.set(name as string, value as HeaderValue);
  }

  /** A header that is set; several lines joined by a comma. */
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

  /** Takes a header away. */
  remove(name: string): this {
    this.#own().drop(name);
    return this;
  }

  /** As in Node: `set`, for one header. */
  setHeader(name: string, value: HeaderValue): this {
    return this.set(name, value);
  }

  /** As in Node: `append`. */
  appendHeader(name: string, value: string | readonly string[]): this {
    return this.append(name, value);
  }

  /** As in Node: a header's text, or its lines if there are several. */
  getHeader(name: string): string | string[] | undefined {
    return oneOrMore(this.#lines().find(name));
  }

  /** As in Node: the headers that are set, by name in lower case. */
  getHeaders(): Record<string, string | string[]> {
    const headers: Record<string, string | string[]> = Object.create(null);
    for (const { key, values } of this.#lines().all()) headers[key] = oneOrMore(values) as string | string[];
    return headers;
  }

  /** As in Node: the names of the headers that are set, in lower case. */
  getHeaderNames(): string[] {
    return this.#lines()
      .all()
      .map(({ key }) => key);
  }

  /** As in Node: whether a header is set. */
  hasHeader(name: string): boolean {
    return this.#lines().find(name) !== undefined;
  }

  /** As in Node: takes a header away. */
  removeHeader(name: string): void {
    this.remove(name);
  }

  /**
   * Adds request headers to `Vary`, if they are not in it: those that the answer depends on.
   *
   * @throws {TypeError} if it is no header name
   */
  vary(field: string | string[]): this {
    vary(this as unknown as ServerResponse, field);
    return this;
  }

  /**
   * Sets `Location`, with what cannot be in a URL percent-encoded.
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
   * Sends a body: a string as it is, bytes as they are, nothing for undefined; objects, arrays and null as JSON,
   * everything else as its text.
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

  /** Sends a value as JSON, perhaps with a status. */
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
   * Sends the client elsewhere: 302, or 301 if for ever. As in Express the status may come first.
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

  /** Sends a status, with its code and name as the body. */
  sendStatus(code: number): this {
    return this.status(code).text(`${code} ${statusText(code)}`);
  }

  /**
   * Sets a cookie; its value is percent-encoded. Objects are sent as JSON behind `j:`.
   *
   * @throws {TypeError} naming what cannot be part of a cookie
   * @throws {MillraceError} ERR_MILLRACE_NO_COOKIE_SECRET if it is to be signed and the app has no `cookieSecret`
   */
  cookie(name: string, value: unknown, options?: CookieOptions): this {
    return this.append('Set-Cookie', renderCookie(name, value, options, this.#terms.cookieSecrets));
  }

  /** Ends a cookie; path and domain must be those that it was set with. */
  clearCookie(name: string, options?: CookieOptions): this {
    return this.append('Set-Cookie', renderCleared(name, options, this.#terms.cookieSecrets));
  }

  /** Nobody may keep the answer. */
  setNoCache(): this {
    return this.set('Cache-Control', 'no-store, no-cache, must-revalidate, proxy-revalidate')
      .set('Pragma', 'no-cache')
      .set('Expires', '0');
  }

  /** Everybody may keep the answer, for some seconds. */
  setCache(seconds = 3600): this {
    return this.set('Cache-Control', `public, max-age=${seconds}`);
  }

  /** Pages of another origin may read the answer; default: of any. */
  setCors(origin = '*'): this {
    return this.set('Access-Control-Allow-Origin', origin)
      .set('Access-Control-Allow-Methods', 'GET, POST, PUT, DELETE, OPTIONS')
      .set('Access-Control-Allow-Headers', 'Content-Type, Authorization')
      .set('Access-Control-Allow-Credentials', 'true');
  }

  /** Ends the answer: a stream, or with an empty body, or the one given, if nothing was sent. */
  end(body?: Piece): this {
    if (this.#stream === undefined) return this.#send(body);
    if (body !== undefined) this.#stream.write(body);
    this.#stream.end();
    this.#ended = true;
    return this;
  }

  /**
   * Sends a piece of the body; the first one sends the headers. `end` completes it.
   *
   * @returns false if enough waits already: go on after `drained()`
   */
  write(piece: Piece): boolean {
    const stream = this.#begin();
    if (stream === undefined) return true;
    this.#length += typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length;
    return stream.write(piece);
  }

  /** Resolves when more may be written, or when nobody reads any more. */
  async drained(): Promise<void> {
    await this.#stream?.drained();
  }

  /**
   * Sends everything that a stream gives, as fast as the client takes it, and ends the answer. If the client leaves, the
   * stream is cancelled. A stream that fails before it gave anything is as a handler that failed; later the connection is
   * cut. The promise need not be waited for, and does not reject: it tells whether the client could have all of it.
   *
   * @throws {TypeError} if it is no stream
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

  /** Prints status, headers and what was sent to the standard output. */
  debug(): this {
    const headers = this.#list().reduce((text, part, at) => text + (at % 2 === 0 ? `  ${part}: ` : `${part}\n`), '');
    const sent = this.headersSent ? 'sent' : 'not sent';
    write(
      process.stdout,
      `${this.statusCode} ${statusText(this.statusCode)}, ${sent}, ${this.#length} bytes\n${headers}`,
    );
    return this;
  }

  /** @internal What a failed handler had begun is forgotten; what is on its way is cut off. */
  fail(status: number, text: string): void {
    if (this.#stream !== undefined) this.#stream.abort();
    if (this.headersSent) return;
    this.#headers = undefined;
    this.#reason = undefined;
    this.statusCode = status;
    if (status >= 500) this.set('Connection', 'close');
    this.set('Content-Type', 'text/plain').#send(text);
  }

  /** The headers, to be read. */
  #lines(): HeaderLines {
    return this.#headers ?? DEFAULTS;
  }

  /** The headers, to be changed. */
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

  /** The body in pieces, counted. undefined: something else was sent. */
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

  /** `type`: unless the handler chose one, or whatever it chose if `always`. */
  #send(body: string | Uint8Array | undefined, type = HTML, always = false): this {
    if (this.headersSent) return this;
    let headers = type.headers;
    if (this.#headers !== undefined || this.#reason !== undefined || isNamedOtherwise(this.statusCode)) {
      if (always || (type !== HTML && !this.#isTyped())) this.#own().put(type.line);
      // the gateway knows it better, except that of a body that is not there
      headers = this.#list(body === undefined && this.#exchange.method === 'HEAD' ? undefined : 'content-length');
    }
    this.#exchange.respond(this.statusCode, headers, body);
    this.#sent = true;
    if (body !== undefined) this.#length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
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

function bytesOf(body: object | null): Uint8Array | undefined {
  if (body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  return ArrayBuffer.isView(body) ? new Uint8Array(body.buffer, body.byteOffset, body.byteLength) : undefined;
}

/** A URL as a header can carry it. Its line breaks are nobody's intention. */
function escapedUrl(url: string): string {
  if (CONTROL.test(url)) throw new TypeError(`header 'Location' must be a URL, not ${JSON.stringify(url)}`);
  return encodeUrl(url);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: nothing else is looked for
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/;

/** Names the reason phrase among the headers; no header can have this name. */
const REASON = ':reason';

const TEXT = contentType('text/plain; charset=utf-8');
const JSON_ = contentType('application/json; charset=utf-8');
const BINARY = contentType('application/octet-stream');
