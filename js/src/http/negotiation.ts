/**
 * Content negotiation: types, character sets, encodings and languages in a request's headers. The libraries are loaded
 * on demand, because they read a table of all media types, which takes longer than loading the rest of `millrace/http`.
 */

import type { IncomingMessage } from 'node:http';

/** What can be negotiated, by the names of the library `accepts`. */
export type Negotiable = 'types' | 'charsets' | 'encodings' | 'languages';

/**
 * The items of `offers` that the client prefers. Without offers: everything that it accepts, the most preferred first.
 */
export function accepted(
  headers: Record<string, string>,
  kind: Negotiable,
  offers: (string | string[])[],
): string | string[] | false {
  const accepts = require('accepts') as typeof import('accepts');
  return accepts(messageOf(headers))[kind](offers.flat());
}

/** Which of the types a body has. `false` if none, `null` without a body. */
export function typeOfBody(
  headers: Record<string, string>,
  hasBody: boolean,
  types: (string | string[])[],
): string | false | null {
  const typeIs = require('type-is') as typeof import('type-is');
  if (!hasBody && !typeIs.hasBody(messageOf(headers))) return null;
  return typeIs.is(headers['content-type'] ?? '', types.flat());
}

/** The libraries read only the headers of a message. */
function messageOf(headers: Record<string, string>): IncomingMessage {
  return { headers } as unknown as IncomingMessage;
}
