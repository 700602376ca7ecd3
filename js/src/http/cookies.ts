/** Cookies: what a client sent, and the `Set-Cookie` line that sets one. Knows no request and no response. */

import { readable } from '../report.js';
import { type Fields, unescapeKindly } from './query.js';

/** What `res.cookie` takes beside name and value. What is left out or false is not sent. */
export interface CookieOptions {
  /** The paths that it is sent with. */
  path?: string | undefined;
  /** When it ends. */
  expires?: Date | undefined;
  /** After how many seconds it ends; 0 ends it at once. */
  maxAge?: number | undefined;
  /** The domain that it is sent to, with those below it. */
  domain?: string | undefined;
  /** Only over https. */
  secure?: boolean | undefined;
  /** Hidden from the page's scripts. */
  httpOnly?: boolean | undefined;
  /** Whether it goes along with requests that other sites cause. */
  sameSite?: 'Strict' | 'Lax' | 'None' | 'strict' | 'lax' | 'none' | undefined;
}

/** The cookies in a `Cookie` header. The first of several with one name counts, as it has the longer path. */
export function parseCookies(header: string): Fields {
  const cookies: Fields = Object.create(null);
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=');
    if (equals < 0) continue;
    const name = pair.slice(0, equals).trim();
    if (name === '' || name in cookies) continue;
    const value = pair.slice(equals + 1).trim();
    cookies[name] = unescapeKindly(QUOTED.test(value) ? value.slice(1, -1) : value);
  }
  return cookies;
}

/**
 * The value of a `Set-Cookie` header.
 *
 * @throws {TypeError} naming what cannot be part of one
 */
export function renderCookie(name: string, value: unknown, options: CookieOptions = {}): string {
  if (!TOKEN.test(name)) throw new TypeError(`a cookie's name must be a token, not ${readable(name)}`);
  const { path, expires, maxAge, domain, secure, httpOnly, sameSite } = options;
  let line = `${name}=${encodeURIComponent(String(value))}`;
  if (path) line += `; Path=${attribute('path', path)}`;
  if (expires) line += `; Expires=${dateOf(expires)}`;
  if (maxAge !== undefined && maxAge !== null) line += `; Max-Age=${secondsOf(maxAge)}`;
  if (domain) line += `; Domain=${attribute('domain', domain)}`;
  if (secure) line += '; Secure';
  if (httpOnly) line += '; HttpOnly';
  if (sameSite) line += `; SameSite=${siteOf(sameSite)}`;
  return line;
}

/** The value of a `Set-Cookie` header that ends a cookie. The path and domain must be those that it was set with. */
export function renderCleared(name: string, options: CookieOptions = {}): string {
  return renderCookie(name, '', { ...options, expires: EPOCH, maxAge: undefined });
}

function attribute(name: string, value: unknown): string {
  const text = String(value);
  if (!ATTRIBUTE.test(text)) throw new TypeError(`a cookie's ${name} must be text without ';', not ${readable(value)}`);
  return text;
}

function dateOf(value: unknown): string {
  if (!(value instanceof Date) || Number.isNaN(value.getTime())) {
    throw new TypeError(`a cookie's expires must be a valid Date, not ${readable(value)}`);
  }
  return value.toUTCString();
}

function secondsOf(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw new TypeError(`a cookie's maxAge must be a number of seconds, not ${readable(value)}`);
  }
  return Math.trunc(value);
}

function siteOf(value: unknown): string {
  const known = SITES.find((site) => site.toLowerCase() === String(value).toLowerCase());
  if (known === undefined) {
    throw new TypeError(`a cookie's sameSite must be 'Strict', 'Lax' or 'None', not ${readable(value)}`);
  }
  return known;
}

/** RFC 9110 5.6.2. */
export const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** RFC 6265 4.1.1: any character except controls and `;`. */
const ATTRIBUTE = /^[\x20-\x3a\x3c-\x7e]*$/;
const QUOTED = /^".*"$/;
const SITES = ['Strict', 'Lax', 'None'];
const EPOCH = new Date(0);
