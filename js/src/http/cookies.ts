/** Cookies of an app: reading them, writing them and their signatures. Knows no request and no response. */

import { parse, type SerializeOptions, serialize } from 'cookie';
import { sign, unsign } from 'cookie-signature';
import { MillraceError } from '../errors.js';
import { readable } from '../log/report.js';
import { type Fields, unescapeKindly } from './query.js';

/** What `res.cookie` takes beside name and value. What is left out or false is not sent. */
export interface CookieOptions {
  /** The paths that it is sent with. Default: `/`, all of them. */
  path?: string | undefined;
  /** When it ends. */
  expires?: Date | undefined;
  /** After how many milliseconds it ends; 0 ends it at once. It is sent as `Max-Age` and as `Expires`. */
  maxAge?: number | undefined;
  /** The domain that it is sent to, with those below it. */
  domain?: string | undefined;
  /** Only over https. */
  secure?: boolean | undefined;
  /** Hidden from the page's scripts. */
  httpOnly?: boolean | undefined;
  /** Whether it goes along with requests that other sites cause; `true` is `'strict'`. */
  sameSite?: boolean | 'Strict' | 'Lax' | 'None' | 'strict' | 'lax' | 'none' | undefined;
  /** Kept apart for each site that embeds this one. */
  partitioned?: boolean | undefined;
  /** Which cookies browsers drop last when they have too many. */
  priority?: 'low' | 'medium' | 'high' | undefined;
  /** Signed with the first `cookieSecret` of the app: who changes it is found out. It can still be read. */
  signed?: boolean | undefined;
  /** Makes the value fit to be sent. Default: `encodeURIComponent`. */
  encode?: ((value: string) => string) | undefined;
}

/** Signed cookies by name, without their signature; `false` where it is wrong. */
export type SignedCookies = Record<string, string | false>;

/** The cookies in a `Cookie` header. The first of several with one name counts, as it has the longer path. */
export function parseCookies(header: string): Fields {
  const cookies: Fields = Object.create(null);
  for (const [name, value] of Object.entries(parse(header, { decode: decoded }))) {
    if (name !== '' && value !== undefined) cookies[name] = value;
  }
  return cookies;
}

/** Moves the signed ones of `cookies` to an object of their own. */
export function takeSigned(cookies: Fields, secrets: readonly string[]): SignedCookies {
  const signed: SignedCookies = Object.create(null);
  for (const [name, value] of Object.entries(cookies)) {
    if (!value.startsWith(SIGNED)) continue;
    delete cookies[name];
    signed[name] = verified(value.slice(SIGNED.length), secrets);
  }
  return signed;
}

/**
 * The value of a `Set-Cookie` header. Objects are sent as JSON behind `j:`.
 *
 * @throws {TypeError} naming what cannot be part of one
 * @throws {MillraceError} ERR_MILLRACE_NO_COOKIE_SECRET if it is to be signed and there is no secret
 */
export function renderCookie(
  name: string,
  value: unknown,
  options: CookieOptions | undefined,
  secrets: readonly string[],
): string {
  const { signed, maxAge, ...others } = options ?? {};
  const text = typeof value === 'object' ? `j:${JSON.stringify(value)}` : String(value);
  const sent = { ...others, path: others.path ?? '/' } as SerializeOptions;
  if (maxAge !== undefined && maxAge !== null) {
    sent.maxAge = Math.floor(milliseconds(maxAge) / 1000);
    sent.expires = new Date(Date.now() + maxAge);
  }
  return serialize(name, signed ? SIGNED + sign(text, secretOf(secrets, `cookie '${name}'`)) : text, sent);
}

/** The value of a `Set-Cookie` header that ends a cookie. The path and domain must be those that it was set with. */
export function renderCleared(name: string, options: CookieOptions | undefined, secrets: readonly string[]): string {
  return renderCookie(name, '', { ...options, expires: EPOCH, maxAge: undefined }, secrets);
}

/**
 * The secrets that an app was made with.
 *
 * @throws {TypeError} if they are none
 */
export function readSecrets(value: unknown): readonly string[] {
  if (value === undefined) return [];
  const secrets = Array.isArray(value) ? [...value] : [value];
  if (secrets.length > 0 && secrets.every((secret) => typeof secret === 'string' && secret !== '')) return secrets;
  // what was given may be half right, and is not repeated
  throw new TypeError('createApp: options.cookieSecret must be a text that is not empty, or an array of such texts');
}

/** The secret to sign with. @throws {MillraceError} ERR_MILLRACE_NO_COOKIE_SECRET */
export function secretOf(secrets: readonly string[], what: string): string {
  const [secret] = secrets;
  if (secret !== undefined) return secret;
  const message = `${what} needs a secret: createApp({ cookieSecret: '…' })`;
  throw new MillraceError('ERR_MILLRACE_NO_COOKIE_SECRET', message);
}

function verified(value: string, secrets: readonly string[]): string | false {
  for (const secret of secrets) {
    const text = unsign(value, secret);
    if (text !== false) return text;
  }
  return false;
}

function decoded(value: string): string {
  return unescapeKindly(QUOTED.test(value) ? value.slice(1, -1) : value);
}

function milliseconds(value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new TypeError(`cookie: options.maxAge must be a number of milliseconds, not ${readable(value)}`);
}

/** In front of the value of a signed cookie, as Express has it. */
const SIGNED = 's:';

const QUOTED = /^".*"$/;
const EPOCH = new Date(0);
