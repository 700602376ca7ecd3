/** Parses queries and forms: `a=1&b=2` into an object. Does not know requests. */

/** Values by name. The object has no prototype, because clients choose the names. */
export type Fields = Record<string, string>;

/** Parses a query. `+` is a space, the last of several values counts, and invalid escapes stay unchanged. */
export function parseQuery(text: string): Fields {
  return parsePairs(text, unescapeKindly);
}

/**
 * Parses a form. The rules are those of queries, but invalid escapes are errors.
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
      // search within the pair, because the rest of the text may have no `=`, and searching it each time takes
      // quadratic time
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

/** Decodes percent escapes. Escapes that are not valid, or not UTF-8, stay unchanged. */
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

/** The escapes of one character each, in the byte patterns of UTF-8. */
const ESCAPES =
  /%[0-7][\da-f]|%[cd][\da-f]%[89ab][\da-f]|%e[\da-f](?:%[89ab][\da-f]){2}|%f[0-7](?:%[89ab][\da-f]){3}/gi;
