/** Parses one complete HTTP request. */

import { binding } from '../addon/binding.js';
import type { Data } from '../gateway/target.js';
import { parseQuery } from '../http/query.js';
import { EINVAL, failed } from './error.js';

/** The parts of a request. */
export interface ParsedRequest {
  /** The method as sent: `'GET'`. */
  method: string;
  /** The version: `'HTTP/1.1'` or `'HTTP/1.0'`. */
  httpVersion: string;
  /** The target as sent: `'/a%20b?x=1'`. */
  url: string;
  /** The target without its query, not decoded: `'/a%20b'`. */
  path: string;
  /** The parameters of the query, decoded. The last of several with one name counts. */
  query: Record<string, string>;
  /** The headers, with names in lower case. Repeated ones are joined with `', '`, those of `cookie` with `'; '`. */
  headers: Record<string, string>;
  /**
   * The body as text: as many bytes as `Content-Length` says, or fewer if there are no more. Empty without that header.
   */
  body: string;
}

/**
 * Parses a request that is complete in memory. Lines end with CRLF or LF.
 *
 * Throws `Empty request data` for no data. Throws `Invalid HTTP request` for an incomplete head, a line without a
 * colon, a folded line, a space before a colon, invalid or contradicting lengths, and other versions.
 *
 * @example
 * ```ts
 * const { query } = parse_http_request('GET /search?q=a+b HTTP/1.1\r\nHost: x\r\n\r\n');
 * console.log(query['q']); // a b
 * ```
 */
export function parse_http_request(data: Data): ParsedRequest {
  const parsed = binding().parseHttpRequest(data);
  if (parsed === null) throw bad('Empty request data');
  if (parsed === false) throw bad('Invalid HTTP request');
  const { method, target: url, version: httpVersion, headers, body } = parsed;
  const mark = url.indexOf('?');
  return {
    method,
    httpVersion,
    url,
    path: mark < 0 ? url : url.slice(0, mark),
    query: mark < 0 ? {} : plain(Object.entries(parseQuery(url.slice(mark + 1)))),
    headers: plain(pairs(headers)),
    body,
  };
}

function bad(message: string): Error {
  return failed('parse_http_request', EINVAL, message, message);
}

function* pairs(list: string[]): Iterable<[string, string]> {
  for (let at = 0; at < list.length; at += 2) yield [list[at] as string, list[at + 1] as string];
}

/** Makes an ordinary object in which every name, also `__proto__`, is a property of its own. */
function plain(entries: Iterable<[string, string]>): Record<string, string> {
  return Object.fromEntries(entries);
}
