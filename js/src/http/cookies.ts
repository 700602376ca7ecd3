/** Cookies of an app: reads them, writes them, and signs them. Does not know requests and responses. */

import { parse, type SerializeOptions, serialize } from 'cookie';
import { sign, unsign } from 'cookie-signature';
import { MillraceError } from '../errors.js';
import { readable } from '../log/report.js';
import { type Fields, unescapeKindly } from './query.js';

/** Options of `res.cookie`. An option that is missing or false is not sent. */
export interface CookieOptions {
  /** The path that the cookie is sent with, and all paths below it. Default: `/`. */
  path?: string | undefined;
  /** When the cookie expires. */
  expires?: Date | undefined;
  /** After how many milliseconds the cookie expires; 0 expires it at once. It is sent as `Max-Age` and as `Expires`. */
  maxAge?: number | undefined;
  /** The domain that the cookie is sent to, together with its subdomains. */
  domain?: string | undefined;
  /** Whether the cookie is sent only over https. */
  secure?: boolean | undefined;
  /** Whether the page's scripts cannot read the cookie. */
  httpOnly?: boolean | undefined;
  /** Whether the cookie is sent with requests from other sites. `true` is `'strict'`. */
  sameSite?: boolean | 'Strict' | 'Lax' | 'None' | 'strict' | 'lax' | 'none' | undefined;
  /** Whether the browser keeps a separate cookie for each site that embeds this one. */
  partitioned?: boolean | undefined;
  /** Which cookies browsers keep longest when they have too many. */
  priority?: 'low' | 'medium' | 'high' | undefined;
  /**
   * Whether the cookie is signed with the first `cookieSecret` of the app. A changed cookie is then detected; its value
   * remains readable.
   */
  signed?: boolean | undefined;
  /** Encodes the value. Default: `encodeURIComponent`. */
  encode?: ((value: string) => string) | undefined;
}

/** Signed cookies by name, without their signatures. A cookie whose signature is wrong is `false`. */
export type SignedCookies = Record<string, string | false>;

/** Parses a `Cookie` header. The first of several cookies with one name counts, because it has the longest path. */
export function parseCookies(header: string): Fields {
  const cookies: Fields = Object.create(null);
  for (const [name, value] of Object.entries(parse(header, { decode: decoded }))) {
    if (name !== '' && value !== undefined) cookies[name] = value;
  }
  return cookies;
}

/** Moves signed cookies from `cookies` to an object of their own. */
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
 * Makes the value of a `Set-Cookie` header. Objects are sent as JSON with the prefix `j:`.
 *
 * @throws {TypeError} naming the part that a cookie cannot have
 * @throws {MillraceError} ERR_MILLRACE_NO_COOKIE_SECRET if the cookie is to be signed and there is no secret
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

/**
 * Makes the value of a `Set-Cookie` header that deletes a cookie. Path and domain must be those that the cookie was set
 * with.
 */
export function renderCleared(name: string, options: CookieOptions | undefined, secrets: readonly string[]): string {
  return renderCookie(name, '', { ...options, expires: EPOCH, maxAge: undefined }, secrets);
}

/**
 * Reads the secrets of an app.
 *
 * @throws {TypeError} if they are not valid
 */
export function readSecrets(value: unknown): readonly string[] {
  if (value === undefined) return [];
  const secrets = Array.isArray(value) ? [...value] : [value];
  if (secrets.length > 0 && secrets.every((secret) => typeof secret === 'string' && secret !== '')) return secrets;
  // the message does not repeat the value, which may contain a secret
  throw new TypeError('createApp: options.cookieSecret must be a text that is not empty, or an array of such texts');
}

/** The secret that signs. @throws {MillraceError} ERR_MILLRACE_NO_COOKIE_SECRET */
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

/** The prefix of a signed cookie's value, as in Express. */
const SIGNED = 's:';

const QUOTED = /^".*"$/;
const EPOCH = new Date(0);
