/**
 * A `Request` over an exchange. Each property is computed when it is read. The platform's `Request` is created only for
 * what nothing else can do. Makes sure that a body is read once.
 */

import type { HttpExchange } from '../exchange.js';

/** The second argument of `fetch`. */
export interface RequestInfo {
  /** The client's address; empty on a unix socket. */
  readonly ip: string;
  /** The client's port; 0 on a unix socket. */
  readonly port: number;
  /** Whether the request came over TLS. */
  readonly encrypted: boolean;
  /** The version of HTTP that the client speaks. */
  readonly httpVersion: '1.0' | '1.1' | '2.0';
}

/** See `RequestInfo`. */
export class ExchangeInfo implements RequestInfo {
  readonly #exchange: HttpExchange;

  constructor(exchange: HttpExchange) {
    this.#exchange = exchange;
  }

  get ip(): string {
    return this.#exchange.ip;
  }

  get port(): number {
    return this.#exchange.port;
  }

  get encrypted(): boolean {
    return this.#exchange.encrypted;
  }

  get httpVersion(): '1.0' | '1.1' | '2.0' {
    return this.#exchange.httpVersion;
  }
}

/** See the module. `Request.prototype` is in its chain. */
export class LazyRequest {
  readonly #exchange: HttpExchange;
  #url: string | undefined;
  #headers: Headers | undefined;
  #signal: AbortSignal | undefined;
  #platform: Request | undefined;
  #used = false;

  constructor(exchange: HttpExchange) {
    this.#exchange = exchange;
  }

  /**
   * Returns the platform's `Request` for such a request, which it uses from then on. Undefined: `value` is something
   * else.
   *
   * @throws {TypeError} if its body was read
   */
  static platform(value: unknown): Request | undefined {
    return typeof value === 'object' && value !== null && #exchange in value
      ? (value as LazyRequest).#real()
      : undefined;
  }

  get method(): string {
    return this.#exchange.method;
  }

  get url(): string {
    this.#url ??= urlOf(this.#exchange);
    return this.#url;
  }

  get headers(): Headers {
    if (this.#headers === undefined) {
      const headers = new Headers();
      const list = this.#exchange.headerList;
      for (let at = 0; at + 1 < list.length; at += 2) {
        const name = list[at] as string;
        const value = list[at + 1] as string;
        // HTTP/2 sends each cookie in a header of its own, and not every runtime joins these with a semicolon
        if (name === 'cookie' && headers.has(name)) headers.set(name, `${headers.get(name)}; ${value}`);
        else headers.append(name, value);
      }
      this.#headers = headers;
    }
    return this.#headers;
  }

  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      const controller = new AbortController();
      this.#signal = controller.signal;
      this.#exchange.onAbort(() => controller.abort());
    }
    return this.#signal;
  }

  get body(): ReadableStream<Uint8Array> | null {
    return this.#hasBody ? (this.#real().body as ReadableStream<Uint8Array> | null) : null;
  }

  get bodyUsed(): boolean {
    return this.#platform?.bodyUsed ?? this.#used;
  }

  get cache(): string {
    return 'default';
  }

  get credentials(): string {
    return 'same-origin';
  }

  get destination(): string {
    return '';
  }

  get duplex(): 'half' {
    return 'half';
  }

  get integrity(): string {
    return '';
  }

  get isHistoryNavigation(): boolean {
    return false;
  }

  get isReloadNavigation(): boolean {
    return false;
  }

  get keepalive(): boolean {
    return false;
  }

  get mode(): string {
    return 'cors';
  }

  get redirect(): string {
    return 'follow';
  }

  get referrer(): string {
    return 'about:client';
  }

  get referrerPolicy(): string {
    return '';
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    if (this.#platform !== undefined) return this.#platform.arrayBuffer();
    const bytes = await this.#take();
    if (bytes.byteLength === bytes.buffer.byteLength) return bytes.buffer as ArrayBuffer;
    return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
  }

  async bytes(): Promise<Uint8Array> {
    return new Uint8Array(await this.arrayBuffer());
  }

  async text(): Promise<string> {
    return this.#platform === undefined ? decode(await this.#take()) : this.#platform.text();
  }

  async json(): Promise<unknown> {
    return this.#platform === undefined ? JSON.parse(decode(await this.#take())) : this.#platform.json();
  }

  async blob(): Promise<Blob> {
    return this.#platform === undefined ? (await this.#asResponse()).blob() : this.#platform.blob();
  }

  async formData(): Promise<FormData> {
    return this.#platform === undefined ? (await this.#asResponse()).formData() : this.#platform.formData();
  }

  clone(): Request {
    return this.#real().clone();
  }

  get #hasBody(): boolean {
    const { method, hasBody } = this.#exchange;
    return hasBody && method !== 'GET' && method !== 'HEAD';
  }

  /** Reads the whole body. It can be read once. */
  #take(): Promise<Uint8Array> {
    if (this.#used) return Promise.reject(new TypeError('Body is unusable: Body has already been read'));
    if (!this.#hasBody) return Promise.resolve(new Uint8Array(0));
    this.#used = true;
    return this.#exchange.body();
  }

  /** A `Response` of the platform, which parses the body by its content type. */
  async #asResponse(): Promise<Response> {
    const type = this.headers.get('content-type');
    return new Response((await this.#take()) as never, type === null ? {} : { headers: { 'content-type': type } });
  }

  #real(): Request {
    if (this.#platform === undefined) {
      if (this.#used) throw new TypeError('Body is unusable: Body has already been read');
      const init: RequestInit & { duplex: 'half' } = {
        method: this.method,
        headers: this.headers,
        signal: this.signal,
        duplex: 'half',
      };
      if (this.#hasBody) init.body = this.#exchange.stream();
      this.#platform = new Request(this.url, init);
    }
    return this.#platform;
  }
}

Object.setPrototypeOf(LazyRequest.prototype, Request.prototype);

const decoder = new TextDecoder();

function decode(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** The whole URL as the URL parser writes it. The parser is called only if it may change something. */
function urlOf(exchange: HttpExchange): string {
  const { target } = exchange;
  if (/^[a-z][a-z0-9+.-]*:/i.test(target) && URL.canParse(target)) {
    const url = new URL(target);
    // a platform's `Request` refuses a URL with a user
    url.username = '';
    url.password = '';
    return url.href;
  }
  const path = target.startsWith('/') ? target : `/${target}`;
  const url = `${originOf(exchange)}${path}`;
  return PLAIN_TARGET.test(path) && !path.includes('/.') ? url : new URL(url).href;
}

/** Scheme and host. They are cached, because consecutive requests usually have the same. */
function originOf(exchange: HttpExchange): string {
  const { host, encrypted } = exchange;
  if (host === known.host && encrypted === known.encrypted) return known.origin;
  const scheme = encrypted ? 'https' : 'http';
  const isAuthority = host !== '' && !/[\s/?#@\\]/.test(host) && URL.canParse(`${scheme}://${host}/`);
  const origin = new URL(`${scheme}://${isAuthority ? host : 'localhost'}/`).origin;
  known = { host, encrypted, origin };
  return origin;
}

/** The scheme and host of the last request. */
let known = { host: '', encrypted: false, origin: 'http://localhost' };

const PLAIN_TARGET = /^\/[\w\-./?&=%+,:;@!$()*~]*$/;
