/** Pairs of a query or a form: `a=1&b=2` as an object. Knows no request. */

/** What was given, by name. It has no prototype: every name is one that somebody sent. */
export type Fields = Record<string, string>;

/** A query, or what looks like one: `+` is a blank, the last of several counts, invalid escapes stay as they are. */
export function parseQuery(text: string): Fields {
  return parsePairs(text, unescapeKindly);
}

/**
 * A form: as a query, but strict.
 *
 * @throws {URIError} if an escape is invalid
 */
export function parseForm(text: string): Fields {
  return parsePairs(text, decodeURIComponent);
}

function parsePairs(text: string, decode: (part: string) => string): Fields {
  const fields: Fields = Object.create(null);
  let start = 0;
  while (start < text.length) {
    let end = text.indexOf('&', start);
    if (end < 0) end = text.length;
    if (end > start) {
      // looked for in the pair alone: the rest of the text may have no other
      const pair = text.slice(start, end);
      const equals = pair.indexOf('=');
      const name = equals < 0 ? pair : pair.slice(0, equals);
      fields[part(name, decode)] = equals < 0 ? '' : part(pair.slice(equals + 1), decode);
    }
    start = end + 1;
  }
  return fields;
}

function part(raw: string, decode: (part: string) => string): string {
  const text = raw.includes('+') ? raw.replaceAll('+', ' ') : raw;
  return text.includes('%') ? decode(text) : text;
}

/** Percent-decoded; what is no escape, or no UTF-8, stays as it is. */
export function unescapeKindly(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text.replace(ESCAPES, (character) => {
      try {
        return decodeURIComponent(character);
      } catch {
        return character;
      }
    });
  }
}

/** Escapes of one character each, as UTF-8 lays them out. */
const ESCAPES =
  /%[0-7][\da-f]|%[cd][\da-f]%[89ab][\da-f]|%e[\da-f](?:%[89ab][\da-f]){2}|%f[0-7](?:%[89ab][\da-f]){3}/gi;
