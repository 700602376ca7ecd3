/** The answer, as handlers make it: status, headers, one body or a stream. Owns nothing of the connection. */

import { write } from '../output.js';
import { readable } from '../report.js';
import type { AnswerStream, HttpExchange } from '../worker/exchange.js';
import { isSource, type Piece, piecesOf, type Streamable } from '../worker/pieces.js';
import { pump } from '../worker/pump.js';
import { type CookieOptions, renderCleared, renderCookie, TOKEN } from './cookies.js';
import { statusText } from './status.js';

export type { Piece, Streamable } from '../worker/pieces.js';

/** Who waits for an answer. */
export interface Progress {
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
  #progress: Progress | undefined;
  /** undefined: those that every answer begins with. */
  #headers: Line[] | undefined;
  /** The handler chose the content type. */
  #typed = false;
  #stream: AnswerStream | undefined;
  #sent = false;
  #length = 0;
  #locals: Record<string, unknown> | undefined;

  /** @internal */
  constructor(exchange: HttpExchange) {
    this.#exchange = exchange;
  }

  /** @internal Who is told from now on. */
  tell(progress: Progress): void {
    this.#progress = progress;
  }

  /** Whether the answer has begun, or nobody waits for it any more. */
  get headersSent(): boolean {
    return this.#sent || this.#exchange.answered;
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
  set(name: string, value: string | number | readonly string[]): this;
  set(headers: Record<string, string | number | readonly string[]>): this;
  set(
    name: string | Record<string, string | number | readonly string[]>,
    value?: string | number | readonly string[],
  ): this {
    if (typeof name === 'object' && name !== null) {
      for (const [one, its] of Object.entries(name)) this.set(one, its);
      return this;
    }
    const key = keyOf(name);
    const values = Array.isArray(value) ? value.map((line) => checked(name, line)) : [checked(name, value)];
    this.#put({ key, name, values });
    if (key === 'content-type') this.#typed = true;
    return this;
  }

  /** A header that is set; several lines joined by a comma. */
  get(name: string): string | undefined {
    return this.#line(keyOf(name))?.values.join(', ');
  }

  /**
   * Adds a line to a header.
   *
   * @throws {TypeError} as `set`
   */
  append(name: string, value: string | number | readonly string[]): this {
    const before = this.#line(keyOf(name));
    const more = Array.isArray(value) ? value : [String(value)];
    return this.set(name, before === undefined ? more : [...before.values, ...more]);
  }

  /** Takes a header away. */
  remove(name: string): this {
    this.#drop(keyOf(name));
    return this;
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
      if (bytes === undefined) return this.#typed ? this.#send(JSON.stringify(body)) : this.json(body);
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
    this.status(code).set('Location', escapedUrl(url));
    return this.text(`Redirecting to ${url}`);
  }

  /** Sends a status, with its code and name as the body. */
  sendStatus(code: number): this {
    return this.status(code).text(`${code} ${statusText(code)}`);
  }

  /**
   * Sets a cookie; its value is percent-encoded.
   *
   * @throws {TypeError} naming what cannot be part of a cookie
   */
  cookie(name: string, value: unknown, options?: CookieOptions): this {
    return this.append('Set-Cookie', renderCookie(name, value, options));
  }

  /** Ends a cookie; path and domain must be those that it was set with. */
  clearCookie(name: string, options?: CookieOptions): this {
    return this.append('Set-Cookie', renderCleared(name, options));
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
    this.#typed = false;
    this.statusCode = status;
    if (status >= 500) this.set('Connection', 'close');
    this.set('Content-Type', 'text/plain').#send(text);
  }

  #line(key: string): Line | undefined {
    return (this.#headers ?? INITIAL).find((line) => line.key === key);
  }

  #put(line: Line): void {
    this.#headers ??= [...INITIAL];
    const at = this.#headers.findIndex(({ key }) => key === line.key);
    if (at < 0) this.#headers.push(line);
    else this.#headers[at] = line;
  }

  #drop(key: string): void {
    this.#headers = (this.#headers ?? INITIAL).filter((line) => line.key !== key);
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
        end: () => stream.end(),
        abort: () => stream.abort(),
      }
    );
  }

  /** `type`: unless the handler chose one, or whatever it chose if `always`. */
  #send(body: string | Uint8Array | undefined, type = HTML, always = false): this {
    if (this.headersSent) return this;
    let headers = type.headers;
    if (this.#headers !== undefined) {
      if (always || (type !== HTML && !this.#typed)) this.#put(type.line);
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
    const list: string[] = [];
    for (const { key, name, values } of this.#headers ?? INITIAL) {
      if (key === without) continue;
      for (const value of values) list.push(name, value);
    }
    return list;
  }
}

/** A header: its name in lower case and as given, and its lines. */
interface Line {
  key: string;
  name: string;
  values: readonly string[];
}

/** A content type, with the headers of an answer that has no others. */
interface ContentType {
  line: Line;
  headers: readonly string[];
}

function contentType(value: string): ContentType {
  return {
    line: { key: 'content-type', name: 'Content-Type', values: [value] },
    headers: Object.freeze(['Content-Type', value, 'Server', SERVER]),
  };
}

function keyOf(name: string): string {
  if (typeof name !== 'string' || !TOKEN.test(name)) {
    throw new TypeError(`${readable(name)} is no header name`);
  }
  return name.toLowerCase();
}

function checked(name: string, value: unknown): string {
  const text = String(value);
  if (value === undefined || UNFIT.test(text)) {
    throw new TypeError(`header '${name}' must be Latin-1 text without line breaks, not ${JSON.stringify(value)}`);
  }
  return text;
}

function bytesOf(body: object | null): Uint8Array | undefined {
  if (body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  return ArrayBuffer.isView(body) ? new Uint8Array(body.buffer, body.byteOffset, body.byteLength) : undefined;
}

/** A URL as a header can carry it. Its line breaks are nobody's intention. */
function escapedUrl(url: string): string {
  if (CONTROL.test(url)) throw new TypeError(`header 'Location' must be a URL, not ${JSON.stringify(url)}`);
  // through bytes: half of a surrogate pair cannot be escaped
  return url.replace(/[^\x21-\x7e]+/g, (part) => encodeURIComponent(Buffer.from(part).toString()));
}

/** The `Server` header. */
const SERVER = 'Millrace';

/** What must not be in a header. */
const UNFIT = /[^\t\x20-\x7e\x80-\xff]/;

// biome-ignore lint/suspicious/noControlCharactersInRegex: nothing else is looked for
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/;

const HTML = contentType('text/html; charset=utf-8');
const TEXT = contentType('text/plain; charset=utf-8');
const JSON_ = contentType('application/json; charset=utf-8');
const BINARY = contentType('application/octet-stream');

/** What every answer begins with. */
const INITIAL: readonly Line[] = [HTML.line, { key: 'server', name: 'Server', values: [SERVER] }];
