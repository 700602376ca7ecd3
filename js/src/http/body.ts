/** Middlewares that programs written for Express use to have `req.body` parsed. Own no parser. */

import { readable } from '../log/report.js';
import type { Handler } from './router.js';
import { HttpError } from './status.js';

/** What the body middlewares take. */
export interface BodyOptions {
  /** The most bytes that the body may have; more is answered with 413. Default, and never more than: the app's `body limit`. */
  limit?: number;
  /** Accepted for Express's sake. Names with brackets stay as they are. */
  extended?: boolean;
}

/**
 * Makes `req.body` of a JSON request the parsed value; invalid JSON is answered with 400.
 *
 * @throws {TypeError} if the limit is no number of bytes
 */
export function json(options: BodyOptions = {}): Handler {
  const limit = limitOf(options, 'json');
  return (req, _res, next) => {
    const value = checked(req.bytes, limit) ? req.json : undefined;
    if (value !== undefined) req.body = value;
    next();
  };
}

/**
 * Makes `req.body` of a form the object of its fields; invalid escapes are answered with 400.
 *
 * @throws {TypeError} if the limit is no number of bytes
 */
export function urlencoded(options: BodyOptions = {}): Handler {
  const limit = limitOf(options, 'urlencoded');
  return (req, _res, next) => {
    const fields = checked(req.bytes, limit) ? req.form : undefined;
    if (fields !== undefined) req.body = fields;
    next();
  };
}

function limitOf({ limit }: BodyOptions, name: string): number {
  if (limit === undefined) return Number.POSITIVE_INFINITY;
  if (typeof limit === 'number' && limit >= 0) return limit;
  throw new TypeError(`${name}: options.limit must be a number of bytes, not ${readable(limit)}`);
}

function checked(bytes: Uint8Array, limit: number): boolean {
  if (bytes.length > limit) throw new HttpError(413, `the body has more than ${limit} bytes`);
  return bytes.length > 0;
}
