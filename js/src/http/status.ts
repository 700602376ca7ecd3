/** Names of statuses, and the error that stands for one. Owns no response. */

/** The name of a status; `Unknown` for one that is not in the table. */
export function statusText(code: number): string {
  return STATUS_TEXTS[code] ?? 'Unknown';
}

const STATUS_TEXTS: Record<number, string | undefined> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  204: 'No Content',
  301: 'Moved Permanently',
  302: 'Found',
  304: 'Not Modified',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  413: 'Payload Too Large',
  415: 'Unsupported Media Type',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
};

/**
 * An error that says what the client did wrong. Error handlers see it; without one the answer is the status and its
 * name. Any error with a `status` from 400 to 499 is treated so.
 *
 * @example
 * ```ts
 * throw new HttpError(409, 'the name is taken');
 * ```
 */
export class HttpError extends Error {
  /** The status of the answer. */
  readonly status: number;

  /** `message` is for error handlers and is not sent. */
  constructor(status: number, message: string = statusText(status), options?: { cause?: unknown }) {
    super(message, options);
    this.status = status;
  }
}

Object.defineProperty(HttpError.prototype, 'name', { value: 'HttpError', configurable: true, writable: true });

/** The status that an error asks for; 500 if it is none of the client's faults. */
export function statusOf(error: unknown): number {
  if (typeof error !== 'object' || error === null) return 500;
  const { status, statusCode } = error as { status?: unknown; statusCode?: unknown };
  for (const asked of [status, statusCode]) {
    if (typeof asked === 'number' && Number.isInteger(asked) && asked >= 400 && asked < 500) return asked;
  }
  return 500;
}
