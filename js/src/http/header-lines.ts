/** The headers of an answer while they are set. Owns their order and checks names and values. Sends nothing. */

import { readable } from '../log/report.js';
import { FixedHeaders } from '../worker/fixed-headers.js';

/** A header's value. An array makes one line of each item. */
export type HeaderValue = string | number | readonly string[];

/** A header: its name in lower case and as given, and its lines. */
export interface Line {
  readonly key: string;
  readonly name: string;
  readonly values: readonly string[];
}

/** A content type, and the headers of an answer that has no others. */
export interface ContentType {
  readonly line: Line;
  readonly headers: FixedHeaders;
}

/** See the module. The initial headers are those of every answer. */
export class HeaderLines {
  #lines: Line[] = [...INITIAL];
  /** Whether a handler has chosen the content type. */
  #typed = false;

  /** Whether a handler has chosen the content type. */
  get isTyped(): boolean {
    return this.#typed;
  }

  /** The lines of a header. @throws {TypeError} if the name is not a token */
  find(name: string): readonly string[] | undefined {
    const key = keyOf(name);
    return this.#lines.find((line) => line.key === key)?.values;
  }

  /**
   * Sets a header.
   *
   * @throws {TypeError} if the name is not a token, or a value has a line break, another control character or a
   *   character outside of Latin-1
   */
  set(name: string, value: HeaderValue | undefined): void {
    const key = keyOf(name);
    const values = Array.isArray(value) ? value.map((line) => checked(name, line)) : [checked(name, value)];
    if (key === 'content-type') this.#typed = true;
    this.put({ key, name, values });
  }

  /** Adds lines to a header. @throws {TypeError} as `set` */
  append(name: string, value: HeaderValue): void {
    const more = Array.isArray(value) ? value : [String(value)];
    this.set(name, [...(this.find(name) ?? []), ...more]);
  }

  /** Sets a header that is known to be valid and that no handler has chosen. */
  put(line: Line): void {
    const at = this.#lines.findIndex(({ key }) => key === line.key);
    if (at < 0) this.#lines.push(line);
    else this.#lines[at] = line;
  }

  /** Removes a header. @throws {TypeError} if the name is not a token */
  drop(name: string): void {
    const key = keyOf(name);
    this.#lines = this.#lines.filter((line) => line.key !== key);
  }

  /** All headers, with their names in lower case. */
  all(): readonly Line[] {
    return this.#lines;
  }

  /** Names and values, alternating, without the given header. */
  list(without?: string): string[] {
    const list: string[] = [];
    for (const { key, name, values } of this.#lines) {
      if (key === without) continue;
      for (const value of values) list.push(name, value);
    }
    return list;
  }
}

/** A content type that answers are sent with. */
export function contentType(value: string): ContentType {
  return {
    line: { key: 'content-type', name: 'Content-Type', values: [value] },
    headers: new FixedHeaders(['Content-Type', value, 'Server', SERVER]),
  };
}

/** Whether a text is valid in a header or a reason phrase. */
export function isFit(text: string): boolean {
  return !UNFIT.test(text);
}

function keyOf(name: string): string {
  if (typeof name !== 'string' || !TOKEN.test(name)) {
    throw new TypeError(`${readable(name)} is not a valid header name`);
  }
  return name.toLowerCase();
}

function checked(name: string, value: unknown): string {
  const text = String(value);
  if (value === undefined || !isFit(text)) {
    throw new TypeError(`header '${name}' must be Latin-1 text without line breaks, not ${JSON.stringify(value)}`);
  }
  return text;
}

/** RFC 9110 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Characters that a header must not have. */
const UNFIT = /[^\t\x20-\x7e\x80-\xff]/;

/** The `Server` header. */
const SERVER = 'Millrace';

/** The content type of an answer whose handler chooses none. */
export const HTML = contentType('text/html; charset=utf-8');

/** The initial headers of every answer. */
const INITIAL: readonly Line[] = [HTML.line, { key: 'server', name: 'Server', values: [SERVER] }];

/** The headers of answers in which no handler has set any. Never changed. */
export const DEFAULTS = new HeaderLines();
