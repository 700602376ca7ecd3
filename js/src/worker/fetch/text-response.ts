/**
 * The `Response` of Bun's worker threads. Objects stay Bun's own, because its native functions accept no others, but
 * each remembers the text that it is made of. So a text is sent at once, with its length and, as by `Bun.serve`, with its
 * type: Bun's class gives it back only as a stream, and does not know that it was a text. Owns the constructor's place on
 * the global object.
 */

/** The text that a response was made of; `null`: it has been sent. */
const TEXT = Symbol('text');

type Marked = Response & { [TEXT]?: string | null };

let isInstalled = false;

/**
 * Returns the text that a response is made of, which then counts as read. Undefined for other responses.
 *
 * @throws {TypeError} if it was sent before
 */
export function takeText(response: Marked): string | undefined {
  if (!isInstalled) return undefined;
  const text = response[TEXT];
  if (text === null) throw new TypeError("the Response's body has been used already");
  const { status } = response;
  if (text === undefined || response.bodyUsed || status === 204 || status === 205 || status === 304) return undefined;
  response[TEXT] = null;
  return text;
}

/** Installs the constructor on this thread's global object. */
export function installTextResponse(): void {
  const own = Object.getOwnPropertyDescriptor(globalThis, 'Response');
  if (own?.configurable !== true) return;
  const Platform = globalThis.Response;
  const mark = (made: Marked, text: string): Response => {
    made[TEXT] = text;
    return made;
  };
  const json = (data: unknown, init?: ResponseInit): Response => {
    const text = JSON.stringify(data);
    // the platform has the error for what is no JSON
    if (text === undefined) return Platform.json(data, init as ResponseInit);
    const made = new Platform(text, init);
    if (!made.headers.has('content-type')) made.headers.set('content-type', 'application/json;charset=utf-8');
    return mark(made, text);
  };
  const marking: typeof Response = new Proxy(Platform, {
    construct(target, given: ConstructorParameters<typeof Response>, made) {
      const response: Response = Reflect.construct(target, given, made === marking ? target : made);
      return typeof given[0] === 'string' ? mark(response, given[0]) : response;
    },
    get: (target, name) => (name === 'json' ? json : Reflect.get(target, name)),
  });
  Object.defineProperty(globalThis, 'Response', {
    configurable: true,
    enumerable: own.enumerable ?? false,
    writable: true,
    value: marking,
  });
  isInstalled = true;
}
