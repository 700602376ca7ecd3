/** A request in the form for handlers. Parses its parts when they are first read. Sends no answer. */

import { readable } from '../log/report.js';
import type { HttpExchange } from '../worker/exchange.js';
import { parseCookies, type SignedCookies, secretOf, takeSigned } from './cookies.js';
import { boundToRequest, type Failing } from './late-errors.js';
import { refuseMissing } from './missing.js';
import { accepted, typeOfBody } from './negotiation.js';
import type { Params } from './pattern.js';
import { type Fields, parseForm, parseQuery } from './query.js';
import { HttpError } from './status.js';

/** The client of a request. */
export interface ClientInfo {
  /** Always -1: connections belong to native threads, so there is no descriptor. */
  readonly fd: number;
  /** The same as `req.ip`. */
  readonly address: string;
  /** The client's port; 0 on a unix socket. */
  readonly port: number;
}

/** The app of a request. */
export interface RequestApp {
  /** Data of the application. */
  locals: Record<string, unknown>;
  /** The value of a setting. */
  get(name: string): unknown;
}

/** @internal Settings of an app that apply to all its requests. */
export interface RequestTerms {
  readonly app: RequestApp;
  readonly jsonBody: boolean;
  readonly cookieSecrets: readonly string[];
}

/**
 * One request. Headers, query, cookies and body are parsed when they are first read. `Path` is the type of its path's
 * parameters.
 */
export class Request<Path = Params> {
  /** The method as sent: `'GET'`. */
  readonly method: string;
  /** The target as sent: `'/users?page=2'`. */
  readonly url: string;
  /** The target without its query, not decoded: `'/users'`. Mounted routers get the whole path, too. */
  readonly path: string;
  /** The decoded parameters of the pattern that matched. */
  params: Path;

  /** @internal */
  constructor(exchange: HttpExchange, path: string, params: Path, terms: RequestTerms) {
    this.method = exchange.method;
    this.url = exchange.target;
    this.path = path;
    this.params = params;
    this.#exchange = exchange;
    this.#terms = terms;
  }

  readonly #exchange: HttpExchange;
  readonly #terms: RequestTerms;
  #failing: Failing | undefined;
  #bytes: Uint8Array = NO_BYTES;
  #headers: Record<string, string> | undefined;
  #query: Fields | undefined;
  #cookies: Fields | undefined;
  #signed: SignedCookies | undefined;
  #form: Fields | undefined;
  #body: { value: unknown } | undefined;
  #text: string | undefined;
  #json: { value: unknown } | undefined;
  #signal: AbortSignal | undefined;

  static {
    // here, because only this class can read which request an instance belongs to
    refuseMissing(Request.prototype, 'req', (self) => (#failing in self ? self.#failing : undefined));
  }

  /** @internal Sets the handler of later failures. */
  tell(failing: Failing): void {
    this.#failing = failing;
  }

  /** @internal Sets the body. */
  receive(bytes: Uint8Array): void {
    this.#bytes = bytes;
  }

  /** The query. `+` is a space, the last of several values counts, and a name without `=` has an empty value. */
  get query(): Fields {
    if (this.#query === undefined) {
      const start = this.url.indexOf('?');
      this.#query = parseQuery(start < 0 ? '' : this.url.slice(start + 1));
    }
    return this.#query;
  }

  /**
   * The headers by name in lower case. Several lines of one header are joined with commas, those of `cookie` with
   * semicolons.
   */
  get headers(): Record<string, string> {
    this.#headers ??= joinedHeaders(this.#exchange.headerList);
    return this.#headers;
  }

  /** The target as sent, even if a middleware has changed `url`. */
  get originalUrl(): string {
    return this.#exchange.target;
  }

  /** The app that handles the request, for its settings and `locals`. */
  get app(): RequestApp {
    return this.#terms.app;
  }

  /**
   * Returns a header. The name may be in any case. `Referer` and `Referrer` are the same.
   *
   * @throws {TypeError} if the name is not a string
   */
  get(name: string): string | undefined {
    if (typeof name !== 'string') throw new TypeError(`get: argument 'name' must be a text, not ${readable(name)}`);
    const key = name.toLowerCase();
    if (key === 'referer' || key === 'referrer') return this.headers['referrer'] ?? this.headers['referer'];
    return this.headers[key];
  }

  /** The same as `get`. */
  header(name: string): string | undefined {
    return this.get(name);
  }

  /**
   * Returns which of these types the body has, `false` if none, or `null` without a body. A type is
   * `'application/json'`, `'text/*'`, `'+json'`, or an extension such as `'json'`.
   */
  is(...types: (string | string[])[]): string | false | null {
    return typeOfBody(this.headers, this.#exchange.hasBody, types);
  }

  /**
   * Returns which of these content types the client prefers according to its `Accept` header, or `false` if it accepts
   * none. A type is `'text/html'` or an extension such as `'html'`. Without arguments: all that the client accepts, the
   * most preferred first.
   */
  accepts(): string[];
  accepts(...types: [string | string[], ...string[]]): string | false;
  accepts(...types: (string | string[])[]): string | string[] | false {
    return accepted(this.headers, 'types', types);
  }

  /** As `accepts`, for character sets and `Accept-Charset`. */
  acceptsCharsets(): string[];
  acceptsCharsets(...charsets: [string | string[], ...string[]]): string | false;
  acceptsCharsets(...charsets: (string | string[])[]): string | string[] | false {
    return accepted(this.headers, 'charsets', charsets);
  }

  /** As `accepts`, for encodings and `Accept-Encoding`. */
  acceptsEncodings(): string[];
  acceptsEncodings(...encodings: [string | string[], ...string[]]): string | false;
  acceptsEncodings(...encodings: (string | string[])[]): string | string[] | false {
    return accepted(this.headers, 'encodings', encodings);
  }

  /** As `accepts`, for languages and `Accept-Language`. */
  acceptsLanguages(): string[];
  acceptsLanguages(...languages: [string | string[], ...string[]]): string | false;
  acceptsLanguages(...languages: (string | string[])[]): string | string[] | false {
    return accepted(this.headers, 'languages', languages);
  }

  /** The client's cookies, decoded. If the app has a `cookieSecret`, signed cookies are not among them. */
  get cookies(): Fields {
    if (this.#cookies === undefined) {
      const { cookieSecrets } = this.#terms;
      this.#cookies = parseCookies(this.headers['cookie'] ?? '');
      if (cookieSecrets.length > 0) this.#signed = takeSigned(this.#cookies, cookieSecrets);
    }
    return this.#cookies;
  }

  /**
   * The client's signed cookies without their signatures. A cookie whose signature is wrong is `false`.
   *
   * @throws {MillraceError} ERR_MILLRACE_NO_COOKIE_SECRET if the app has no `cookieSecret`
   */
  get signedCookies(): SignedCookies {
    const { cookieSecrets } = this.#terms;
    secretOf(cookieSecrets, 'req.signedCookies');
    this.#signed ??= takeSigned(this.cookies, cookieSecrets);
    return this.#signed;
  }

  /**
   * The body as text, decoded as UTF-8. After `app.set('json body', true)`, a valid JSON body is its parsed value. May
   * be assigned.
   */
  get body(): unknown {
    if (this.#body === undefined) {
      const isParsed = this.#terms.jsonBody && this.#isJson();
      this.#body = { value: isParsed ? parsedOr(this.text) : this.text };
    }
    return this.#body.value;
  }

  /** Replaces the body. */
  set body(value: unknown) {
    this.#body = { value };
  }

  /** The body as text, whatever `body` is. */
  get text(): string {
    this.#text ??= decode(this.#bytes);
    return this.#text;
  }

  /** The body as bytes. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  /**
   * The parsed value of a JSON body. `null` if the body is empty, undefined if the content type is not JSON.
   *
   * @throws {HttpError} 400 if it is not valid
   */
  // biome-ignore lint/suspicious/noExplicitAny: as with JSON.parse, what a client sent has any type
  get json(): any {
    if (this.#json === undefined) {
      if (!this.#isJson()) return undefined;
      this.#json = { value: this.#bytes.length === 0 ? null : parsed(this.text) };
    }
    return this.#json.value;
  }

  /**
   * The fields of a form with the content type `application/x-www-form-urlencoded`. Undefined for other content types.
   *
   * @throws {HttpError} 400 if an escape is invalid
   */
  get form(): Fields | undefined {
    if (this.#form === undefined) {
      if (!this.#contentType().includes('application/x-www-form-urlencoded')) return undefined;
      try {
        this.#form = parseForm(this.text);
      } catch (cause) {
        throw new HttpError(400, 'the form has an invalid escape', { cause });
      }
    }
    return this.#form;
  }

  /** The version: `'HTTP/1.1'`, `'HTTP/1.0'` or `'HTTP/2.0'`. */
  get httpVersion(): string {
    return `HTTP/${this.#exchange.httpVersion}`;
  }

  /** The client's address; empty on a unix socket. */
  get ip(): string {
    return this.#exchange.ip;
  }

  /** Address and port of the client. */
  get clientInfo(): ClientInfo {
    return { fd: -1, address: this.#exchange.ip, port: this.#exchange.port };
  }

  /** The requested host without its port. Undefined if the request names no host. */
  get hostname(): string | undefined {
    const { host } = this.#exchange;
    // colons within brackets belong to an IPv6 address
    const colon = host.indexOf(':', host.startsWith('[') ? host.indexOf(']') : 0);
    return (colon < 0 ? host : host.slice(0, colon)) || undefined;
  }

  /**
   * `'https'` over TLS, else `'http'`. For a request from a proxy that the listener trusts (`trustProxy`): the value of
   * `X-Forwarded-Proto`.
   */
  get protocol(): string {
    const { encrypted, isForwarded } = this.#exchange;
    const said = isForwarded ? this.headers['x-forwarded-proto']?.split(',', 1)[0]?.trim().toLowerCase() : undefined;
    if (said === 'https' || said === 'http') return said;
    return encrypted ? 'https' : 'http';
  }

  /** Whether `protocol` is `'https'`. */
  get secure(): boolean {
    return this.protocol === 'https';
  }

  /** Aborted when the client leaves before the answer is complete. */
  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      const controller = new AbortController();
      this.#signal = controller.signal;
      this.#exchange.onAbort(boundToRequest(() => controller.abort()));
    }
    return this.#signal;
  }

  #contentType(): string {
    return (this.headers['content-type'] ?? '').toLowerCase();
  }

  #isJson(): boolean {
    return JSON_TYPE.test(this.#contentType());
  }
}

function joinedHeaders(list: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = Object.create(null);
  for (let at = 0; at + 1 < list.length; at += 2) {
    const name = list[at] as string;
    const value = list[at + 1] as string;
    const before = headers[name];
    headers[name] = before === undefined ? value : `${before}${name === 'cookie' ? '; ' : ', '}${value}`;
  }
  return headers;
}

function decode(bytes: Uint8Array): string {
  if (bytes.length === 0) return '';
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new HttpError(400, `the body is not valid JSON: ${readable(cause)}`, { cause });
  }
}

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const NO_BYTES = new Uint8Array(0);

/** `application/json`, and types with the suffix `+json`, such as `application/problem+json`. */
const JSON_TYPE = /application\/json|\+json\s*(?:;|$)/;
