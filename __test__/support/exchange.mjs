// A request without a network, for tests of the layers above it: keeps the answer of an app unchanged.

/** One request and its answer, as `js/src/worker/exchange.ts` has them. */
export class PlainExchange {
  answered = false;
  hasLeft = false;
  /** `{status, headers, body}`: headers as an object of arrays, by name in lower case. */
  answer;
  /** Pieces of a streamed answer. */
  pieces = [];
  ended = false;
  aborted = false;
  httpVersion = '1.1';
  ip = '127.0.0.1';
  port = 4000;
  encrypted = false;
  isForwarded = false;
  host = '';
  #body;
  #late;
  #leaving = [];

  /**
   * @param {string} method
   * @param {string} target
   * @param {{headers?: string[], body?: string | Uint8Array, late?: boolean}} given late: the body comes later
   */
  constructor(method, target, { headers = [], body, late = false } = {}) {
    this.method = method;
    this.target = target;
    this.headerList = headers;
    const at = headers.indexOf('host');
    if (at >= 0) this.host = headers[at + 1];
    this.hasBody = body !== undefined;
    this.#body = typeof body === 'string' ? Buffer.from(body) : (body ?? new Uint8Array(0));
    this.#late = late;
  }

  bodyNow() {
    return this.#late ? undefined : this.#body;
  }

  async body(limit = Number.POSITIVE_INFINITY) {
    await new Promise(setImmediate);
    if (this.#body.length <= limit) return this.#body;
    throw Object.assign(new Error('the body is too large'), { code: 'ERR_MILLRACE_BODY_TOO_LARGE' });
  }

  onGone(callback) {
    this.onAbort(callback);
  }

  onAbort(callback) {
    this.#leaving.push(callback);
  }

  /** The client disconnects. */
  leave() {
    this.answered = true;
    this.hasLeft = true;
    for (const callback of this.#leaving) callback();
  }

  respond(status, headers, body) {
    if (this.answered) throw new Error('answered twice');
    this.answered = true;
    // fixed headers have a list
    this.answer = { status, headers: grouped(headers.list ?? headers), body: body ?? '' };
  }

  respondStream(status, headers) {
    this.respond(status, headers);
    return {
      write: (piece) => this.pieces.push(piece) < 3,
      drained: async () => {},
      end: () => {
        this.ended = true;
      },
      abort: () => {
        this.aborted = true;
      },
    };
  }
}

function grouped(list) {
  const headers = {};
  for (let at = 0; at < list.length; at += 2) {
    const name = list[at].toLowerCase();
    headers[name] = [...(headers[name] ?? []), list[at + 1]];
  }
  return headers;
}

/** Runs an app; resolves with `{status, headers, body, error}`; `error` is what the app threw or rejected with. */
export async function ask(app, method, target, given) {
  const exchange = new PlainExchange(method, target, given);
  let error;
  try {
    await app[Symbol.for('millrace.exchange')](exchange);
  } catch (thrown) {
    error = thrown;
  }
  return { ...exchange.answer, error, exchange };
}
