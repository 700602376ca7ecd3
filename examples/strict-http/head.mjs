// @ts-check
/**
 * A request's head: its first line and its headers, a line at a time. Strict: everything that is not exactly right is
 * refused, because an attacker can exploit a line that two programs read differently. Has nothing to do with bodies and
 * connections.
 */
import { HttpError } from './http-error.mjs';

/**
 * @typedef {{ method: string, uri: string, version: string, headers: Record<string, string>, hosts: number }} Head
 *   the names of headers are in lower case; the values of a repeated header are joined by commas
 */

export const METHODS = [
  'OPTIONS',
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'DELETE',
  'TRACE',
  'CONNECT',
  'PATCH',
  // Also a valid token, although it does not look like a header name.
  'QjS+SpEc1aL-Valid%Method',
];
export const VERSIONS = ['1.0', '1.1', '2.0'];

/** Longest target, in bytes. */
const TARGET_BYTES = 8192;

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** The characters that RFC 3986 allows in a URI. */
const TARGET = /^[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]+$/;
/** No control characters but tabs. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * @param {string} line without its end, a character for each byte
 * @returns {Head} without headers yet
 */
export function readRequestLine(line) {
  const parts = line.split(' ');
  if (parts.length !== 3) throw new HttpError(400, 'The request line must be a method, a target and a version.');
  const [method, uri, protocol] = /** @type {[string, string, string]} */ (parts);
  if (!TOKEN.test(method)) throw new HttpError(400, 'The method is no token.');
  if (uri.length > TARGET_BYTES) throw new HttpError(414, `The target has more than ${TARGET_BYTES} characters.`);
  if (!TARGET.test(uri)) throw new HttpError(400, 'The target has characters that no URI has.');
  const [, version = ''] = /^HTTP\/([0-9]\.[0-9])$/.exec(protocol) ?? [];
  if (version === '') throw new HttpError(400, 'The version must be like HTTP/1.1.');
  if (!VERSIONS.includes(version)) throw new HttpError(501, `HTTP/${version} is not supported.`);
  if (!METHODS.includes(method)) throw new HttpError(501, `The method ${method} is not supported.`);
  return { method, uri, version, headers: Object.create(null), hosts: 0 };
}

/**
 * @param {Head} head gets the header
 * @param {string} line without its end, a character for each byte
 */
export function readHeader(head, line) {
  const colon = line.indexOf(':');
  if (colon < 0) throw new HttpError(400, 'A header has no colon.');
  const name = line.slice(0, colon);
  // Also refuses a line that begins with a space, and a space before the colon.
  if (!TOKEN.test(name)) throw new HttpError(400, 'The name of a header is no token.');
  const value = line.slice(colon + 1).replace(/^[\t ]+|[\t ]+$/g, '');
  if (!VALUE.test(value)) throw new HttpError(400, `The header ${name} has control characters.`);
  const key = name.toLowerCase();
  const before = head.headers[key];
  head.headers[key] = before === undefined ? value : `${before}, ${value}`;
  if (key === 'host') head.hosts += 1;
}

/** @param {Head} head complete */
export function checkHost({ version, headers, hosts }) {
  if (hosts > 1) throw new HttpError(400, 'There are several Host headers.');
  if (version !== '1.0' && !headers['host']) throw new HttpError(400, 'The header Host is missing or empty.');
}

/**
 * Whether the client wants the connection to stay open after the answer.
 * @param {Head} head
 */
export function wantsKeepAlive({ version, headers }) {
  const wishes = (headers['connection'] ?? '').toLowerCase().split(/[\t ]*,[\t ]*/);
  return version === '1.1' ? !wishes.includes('close') : wishes.includes('keep-alive') && !wishes.includes('close');
}
