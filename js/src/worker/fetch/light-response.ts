/**
 * A `Response` that replaces the platform's in worker threads of Node.js. One made of text or bytes only keeps its
 * arguments, and can be sent from these. The platform's `Response` is created when a program uses a member that needs
 * it. Owns this class and its place on the global object.
 */

/** A complete answer. */
export interface Whole {
  status: number;
  /** Name, value, name, value …. */
  headers: readonly string[];
  body: string | Uint8Array | null;
}

type PlatformBody = ConstructorParameters<typeof Response>[0];

let takeWhole: ((response: object) => Whole | undefined) | undefined;

/**
 * Returns the complete answer of such a response, which then counts as read. Undefined for other values.
 *
 * @throws {TypeError} if it was sent before
 */
export function wholeOf(response: Response): Whole | undefined {
  return takeWhole?.(response);
}

/**
 * Installs the class on this thread's global object when `Response` is first read, because the platform loads its own
 * class at that moment, too.
 */
export function installLightResponse(): void {
  const own = Object.getOwnPropertyDescriptor(globalThis, 'Response');
  if (own?.configurable !== true) return;
  const put = (value: unknown) =>
    Object.defineProperty(globalThis, 'Response', { ...SHOWN, enumerable: own.enumerable ?? false, value });
  Object.defineProperty(globalThis, 'Response', {
    configurable: true,
    enumerable: own.enumerable ?? false,
    get: () => {
      Object.defineProperty(globalThis, 'Response', own);
      const light = lightOver(globalThis.Response);
      put(light);
      return light;
    },
    set: put,
  });
}

const SHOWN = { configurable: true, writable: true };

function lightOver(Platform: typeof Response): typeof Response {
  class Light {
    /** Undefined: the platform's `Response` has taken over. */
    #whole: Whole | undefined;
    #platform: Response | undefined;
    #sent = false;

    static {
      takeWhole = (response) => (#whole in response ? response.#take() : undefined);
    }

    static json(data: unknown, init?: ResponseInit): Response {
      const text = JSON.stringify(data);
      const whole = text === undefined ? undefined : wholeFrom(text, init, 'application/json');
      if (whole === undefined) return Platform.json(data, init);
      const response = new Light();
      response.#whole = whole;
      return response as unknown as Response;
    }

    constructor(body?: PlatformBody, init?: ResponseInit) {
      this.#whole = wholeFrom(body, init, 'text/plain;charset=UTF-8');
      if (this.#whole === undefined) this.#platform = new Platform(body, init);
    }

    get status(): number {
      return this.#whole?.status ?? this.#real.status;
    }

    get ok(): boolean {
      return this.status < 300 && this.status >= 200;
    }

    get statusText(): string {
      return this.#whole === undefined ? this.#real.statusText : '';
    }

    get type(): Response['type'] {
      return this.#whole === undefined ? this.#real.type : 'default';
    }

    get url(): string {
      return '';
    }

    get redirected(): boolean {
      return false;
    }

    get headers(): Headers {
      return this.#real.headers;
    }

    get body(): ReadableStream<Uint8Array> | null {
      return this.#real.body as ReadableStream<Uint8Array> | null;
    }

    get bodyUsed(): boolean {
      return this.#sent || (this.#platform?.bodyUsed ?? false);
    }

    async arrayBuffer(): Promise<ArrayBuffer> {
      return this.#unsent.arrayBuffer();
    }

    async blob(): Promise<Blob> {
      return this.#unsent.blob();
    }

    async bytes(): Promise<Uint8Array> {
      return new Uint8Array(await this.#unsent.arrayBuffer());
    }

    async formData(): Promise<FormData> {
      return this.#unsent.formData();
    }

    async json(): Promise<unknown> {
      return this.#unsent.json();
    }

    async text(): Promise<string> {
      return this.#unsent.text();
    }

    clone(): Response {
      return this.#unsent.clone();
    }

    [Symbol.for('nodejs.util.inspect.custom')](_depth: number, _options: unknown, inspect: (value: unknown) => string) {
      return inspect(this.#real);
    }

    /** The platform's `Response`, which takes over from now on. */
    get #real(): Response {
      if (this.#platform === undefined) {
        const { status, headers, body } = this.#whole as Whole;
        this.#platform = new Platform(this.#sent ? null : (body as PlatformBody), { status, headers: pairs(headers) });
        this.#whole = undefined;
      }
      return this.#platform;
    }

    get #unsent(): Response {
      if (this.#sent) throw new TypeError(SENT);
      return this.#real;
    }

    #take(): Whole | undefined {
      if (this.#sent) throw new TypeError(SENT);
      this.#sent = this.#whole !== undefined && this.#whole.body !== null;
      return this.#whole;
    }
  }
  // instances of the platform's class count, too, such as the results of `fetch`
  const hasInstance = Function.prototype[Symbol.hasInstance];
  Object.defineProperty(Light, Symbol.hasInstance, {
    configurable: true,
    value(this: unknown, value: unknown) {
      return hasInstance.call(this === Light ? Platform : (this as typeof Response), value);
    },
  });
  Object.defineProperty(Light, 'name', { value: 'Response', configurable: true });
  Object.setPrototypeOf(Light, Platform);
  Object.setPrototypeOf(Light.prototype, Platform.prototype);
  return Light as unknown as typeof Response;
}

/**
 * The answer that a simple response is made of. Undefined for everything that has rules of its own, which the platform
 * handles.
 */
function wholeFrom(body: unknown, init: ResponseInit | undefined, type: string): Whole | undefined {
  let content: Whole['body'];
  if (typeof body === 'string') content = body;
  else if (body === undefined || body === null) content = null;
  else if (body instanceof Uint8Array) content = Uint8Array.prototype.slice.call(body);
  else return undefined;
  if (init === undefined) {
    return { status: 200, headers: typeof content === 'string' ? ['content-type', type] : NO_HEADERS, body: content };
  }
  if (typeof init !== 'object' || init === null) return undefined;
  const { status = 200, statusText, headers } = init;
  if (!Number.isInteger(status) || status < 200 || status > 599) return undefined;
  if (statusText !== undefined && statusText !== '') return undefined;
  if (content !== null && (status === 204 || status === 205 || status === 304)) return undefined;
  const list = listFrom(headers);
  if (list === undefined) return undefined;
  if (typeof content === 'string' && !hasType(list)) list.push('content-type', type);
  return { status, headers: list, body: content };
}

/** Names in lower case and values, alternating. Undefined if the platform has to check or refuse them. */
function listFrom(headers: unknown): string[] | undefined {
  if (headers === undefined) return [];
  if (typeof headers !== 'object' || headers === null) return undefined;
  const list: string[] = [];
  if (headers instanceof Headers) {
    for (const [name, value] of headers) list.push(name, value);
    return list;
  }
  const prototype = Object.getPrototypeOf(headers);
  if ((prototype !== Object.prototype && prototype !== null) || Symbol.iterator in headers) return undefined;
  for (const name of Object.keys(headers)) {
    const value: unknown = (headers as Record<string, unknown>)[name];
    if (typeof value !== 'string' || !NAME.test(name) || !VALUE.test(value)) return undefined;
    list.push(name.toLowerCase(), value);
  }
  return list;
}

function hasType(list: readonly string[]): boolean {
  for (let at = 0; at < list.length; at += 2) if (list[at] === 'content-type') return true;
  return false;
}

function pairs(list: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < list.length; at += 2) pairs.push([list[at] as string, list[at + 1] as string]);
  return pairs;
}

const NO_HEADERS: readonly string[] = [];
const NAME = /^[\w!#$%&'*+\-.^`|~]+$/;
/** A header's value without surrounding white space, which the platform would remove. */
const VALUE = /^(?:[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)?$/;
const SENT = 'Body is unusable: the Response was sent already';
