/** Middlewares with which programs written for Express have `req.body` parsed. The parsers are those of the request. */

import { readable } from '../log/report.js';
import type { Handler } from './router.js';
import { HttpError } from './status.js';

/** Options of the body middlewares. */
export interface BodyOptions {
  /**
   * The size limit of a body in bytes. A larger body is answered with 413. Default and maximum: the app's `body limit`.
   */
  limit?: number;
  /** Accepted for compatibility with Express. Names with brackets are not parsed. */
  extended?: boolean;
}

/**
 * Parses the body of a JSON request into `req.body`. Invalid JSON is answered with 400.
 *
 * @throws {TypeError} if the limit is not a number of bytes
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
 * Parses the body of a form into an object in `req.body`. Invalid escapes are answered with 400.
 *
 * @throws {TypeError} if the limit is not a number of bytes
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
