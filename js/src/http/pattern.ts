/**
 * Patterns of paths, and what of a request's path they are compared with. Owns our syntax; how one pattern is matched
 * is path-to-regexp's.
 */

import { pathToRegexp, type Token, TokenData } from 'path-to-regexp';
import { readable } from '../log/report.js';

/** Values of a pattern's parameters, percent-decoded, by name. */
export type Params = Record<string, string>;

/** A pattern, compiled. */
export class Pattern {
  /** The whole path, if only one matches. */
  readonly exact: string | undefined;
  /** What every path that matches begins with, up to a `/`. */
  readonly beginning: string;
  readonly #regexp: RegExp;
  /** Names of the parameters, in the order of the expression's groups. */
  readonly #names: readonly string[];

  /**
   * @param source `/users/:id`, `/files/*`; everything but `:name` and a `*` or `*name` at the end is literal
   * @param whole false: matches whole segments at a path's beginning
   * @throws {TypeError} if it is no pattern
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

  /** The parameters, if a path, as `comparable` made it, matches. */
  match(path: string): Params | undefined {
    if (this.exact !== undefined) return path === this.exact ? noParams() : undefined;
    const found = this.#regexp.exec(path);
    if (found === null) return undefined;
    const params = noParams();
    for (let at = 0; at < this.#names.length; at += 1) {
      const value = found[at + 1];
      // a wildcard has two groups: one for nothing
      if (value !== undefined)
        params[this.#names[at] as string] = value.includes('%') ? decodeURIComponent(value) : value;
    }
    return params;
  }
}

/** What a pattern without parameters matches. */
export function noParams(): Params {
  return new Empty();
}

/** Objects without inherited names; faster than those without a prototype. */
const Empty = function Params() {} as unknown as { new (): Params; prototype: unknown };
Empty.prototype = Object.freeze(Object.create(null));

/** A pattern within another: that of a route in a router that is mounted. */
export function joined(outer: string, inner: string): string {
  if (outer === '') return inner;
  return inner === '/' ? outer : outer + inner;
}

/** The pattern of a middleware: `/` and a `/` at the end mean nothing. */
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
 * A path in the form that patterns are compared with: escapes decoded, except those of `/`, which would divide it anew,
 * and of `%` itself.
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
    // the rest may be empty
    if (name !== undefined) tokens.push({ type: 'param', name });
    else tokens.push({ type: 'group', tokens: [{ type: 'wildcard', name: rest || '*' }] });
  }
  if (last < source.length) tokens.push({ type: 'text', value: literal(source.slice(last)) });
  return tokens;
}

/** Text of a pattern may be written as it is sent, or as it is read. */
function literal(text: string): string {
  try {
    return comparable(text);
  } catch {
    return text;
  }
}

/** `:name` anywhere; `*` or `*name` as the last segment. */
const PARAMETER = /:(?<name>[A-Za-z0-9_]+)|(?<=\/)\*(?<rest>[A-Za-z0-9_]*)$/g;
