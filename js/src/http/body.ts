/** Middlewares that programs written for Express use to have `req.body` parsed. Own no parser. */

import type { Handler } from './router.js';
import { HttpError } from './status.js';

/** What the body middlewares take. */
export interface BodyOptions {
  /** The most bytes that the body may have; more is answered with 413. Default: the app's `body limit`. */
  limit?: number;
  /** Accepted for Express's sake. Names with brackets stay as they are. */
  extended?: boolean;
}

/** Makes `req.body` of a JSON request the parsed value; invalid JSON is answered with 400. */
export function json(options: BodyOptions = {}): Handler {
  return (req, _res, next) => {
    const value = checked(req.bytes, options) ? req.json : undefined;
    if (value !== undefined) req.body = value;
    next();
  };
}

/** Makes `req.body` of a form the object of its fields; invalid escapes are answered with 400. */
export function urlencoded(options: BodyOptions = {}): Handler {
  return (req, _res, next) => {
    const fields = checked(req.bytes, options) ? req.form : undefined;
    if (fields !== undefined) req.body = fields;
    next();
  };
}

function checked(bytes: Uint8Array, { limit = Number.POSITIVE_INFINITY }: BodyOptions): boolean {
  if (bytes.length > limit) throw new HttpError(413, `the body has more than ${limit} bytes`);
  return bytes.length > 0;
}
