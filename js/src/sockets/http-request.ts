/** One whole HTTP request, taken apart. */

import { binding } from '../addon/binding.js';
import type { Data } from '../gateway/target.js';
import { parseQuery } from '../http/query.js';
import { EINVAL, failed } from './error.js';

/** A request's parts. */
export interface ParsedRequest {
  /** As it was sent: `'GET'`. */
  method: string;
  /** `'HTTP/1.1'` or `'HTTP/1.0'`. */
  httpVersion: string;
  /** The target, as it was sent: `'/a%20b?x=1'`. */
  url: string;
  /** The target without its query, not decoded: `'/a%20b'`. */
  path: string;
  /** Of the query, decoded. The last of several with one name counts. */
  query: Record<string, string>;
  /** Names in lower case. Repeated ones are joined by `', '`, those of `cookie` by `'; '`. */
  headers: Record<string, string>;
  /** As many bytes as `Content-Length` says, or fewer if there are no more, as text. Empty without one. */
  body: string;
}

/**
 * Takes a request apart that lies there in one piece. Lines end with CRLF or LF.
 *
 * Throws `Empty request data`, and `Invalid HTTP request` for a head that is not complete, a line without a
 * colon, a folded line, a blank before a colon, lengths that are none or contradict each other, other versions.
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

/** An ordinary object, in which every name is a property of its own. */
function plain(entries: Iterable<[string, string]>): Record<string, string> {
  return Object.fromEntries(entries);
}
