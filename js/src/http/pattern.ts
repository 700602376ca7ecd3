/**
 * Patterns of paths, and the form of a path that they match. The syntax is ours; path-to-regexp does the matching.
 */

import { pathToRegexp, type Token, TokenData } from 'path-to-regexp';
import { readable } from '../log/report.js';

/** The values of a pattern's parameters by name, percent-decoded. */
export type Params = Record<string, string>;

/** A pattern, compiled. */
export class Pattern {
  /** The path, if the pattern matches only one. */
  readonly exact: string | undefined;
  /** The literal beginning of every matching path, up to a `/`. */
  readonly beginning: string;
  readonly #regexp: RegExp;
  /** The names of the parameters, in the order of the expression's groups. */
  readonly #names: readonly string[];

  /**
   * @param source `/users/:id`, `/files/*`; everything is literal except `:name` and a `*` or `*name` at the end
   * @param whole false: matches whole segments at the beginning of a path
   * @throws {TypeError} if it is not a valid pattern
   */
  constructor(source: string, whole: boolean) {
    const tokens = tokensOf(source);
    const [first] = tokens;
    const literal = first?.type === 'text' ? first.value : '';
    this.exact = whole && tokens.length === 1 && first?.type === 'text' ? literal : undefined;
    this.beginning = literal.slice(0, literal.lastIndexOf('/') + 1);
    const options = { end: whole, trailing: false, sensitive: true };
    const { regexp, keys } = pathToRegexp(new TokenData(tokens, source), options);
    this.#regexp = regexp;
    this.#names = keys.map(({ name }) => name);
  }

  /** The parameters of a path in the form of `comparable`. Undefined: the path does not match. */
  match(path: string): Params | undefined {
    if (this.exact !== undefined) return path === this.exact ? noParams() : undefined;
    const found = this.#regexp.exec(path);
    if (found === null) return undefined;
    const params = noParams();
    for (let at = 0; at < this.#names.length; at += 1) {
      const value = found[at + 1];
      // a wildcard has a second group, for the empty rest
      if (value !== undefined)
        params[this.#names[at] as string] = value.includes('%') ? decodeURIComponent(value) : value;
    }
    return params;
  }
}

/** The parameters of a pattern that has none. */
export function noParams(): Params {
  return new Empty();
}

/** Creates objects without inherited names. They are faster than objects without a prototype. */
const Empty = function Params() {} as unknown as { new (): Params; prototype: unknown };
Empty.prototype = Object.freeze(Object.create(null));

/** The pattern of a route in a mounted router. */
export function joined(outer: string, inner: string): string {
  if (outer === '') return inner;
  return inner === '/' ? outer : outer + inner;
}

/** The pattern of a middleware. A `/` alone or at the end has no effect. */
export function prefixOf(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

/**
 * Checks a pattern as it is given.
 *
 * @throws {TypeError}
 */
export function checkPattern(path: unknown): string {
  if (path === '*') return '/*';
  if (typeof path !== 'string' || !path.startsWith('/')) {
    throw new TypeError(`a path must be a string that begins with '/', or '*', not ${readable(path)}`);
  }
  const query = path.indexOf('?');
  if (query >= 0 || path.includes('#')) {
    throw new TypeError(`a path has no '?' and no '#': ${readable(path)}`);
  }
  tokensOf(path);
  return path;
}

/**
 * A path in the form that patterns match: decoded, except the escapes of `/`, which would change the segments, and of
 * `%`.
 *
 * @throws {URIError} if an escape is invalid
 */
export function comparable(path: string): string {
  if (!path.includes('%')) return path;
  return decodeURIComponent(path.replaceAll('%25', '%2525').replace(/%2f/gi, '%252F'));
}

function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  let text = '';
  let last = 0;
  for (const found of source.matchAll(PARAMETER)) {
    text = source.slice(last, found.index);
    last = found.index + found[0].length;
    if (text === '' && tokens.length > 0) {
      throw new TypeError(`between two parameters of a path there must be something: ${readable(source)}`);
    }
    if (text !== '') tokens.push({ type: 'text', value: literal(text) });
    const { name, rest } = found.groups ?? {};
    // the rest of the path may be empty
    if (name !== undefined) tokens.push({ type: 'param', name });
    else tokens.push({ type: 'group', tokens: [{ type: 'wildcard', name: rest || '*' }] });
  }
  if (last < source.length) tokens.push({ type: 'text', value: literal(source.slice(last)) });
  return tokens;
}

/** Literal text of a pattern may be written encoded or decoded. */
function literal(text: string): string {
  try {
    return comparable(text);
  } catch {
    return text;
  }
}

/** `:name` anywhere, `*` or `*name` as the last segment. */
const PARAMETER = /:(?<name>[A-Za-z0-9_]+)|(?<=\/)\*(?<rest>[A-Za-z0-9_]*)$/g;
