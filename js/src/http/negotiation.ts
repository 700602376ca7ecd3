/**
 * What a request's headers say of content types, character sets, encodings and languages. The libraries are loaded when they are
 * first needed: they read a table of all media types, which takes longer than loading the rest of `millrace/http`.
 */

import type { IncomingMessage } from 'node:http';

/** What a client can be asked for, by the name of the `accepts` library. */
export type Negotiable = 'types' | 'charsets' | 'encodings' | 'languages';

/** Those of `offers` that the client likes best; without any offer all that it accepts, the best first. */
export function accepted(
  headers: Record<string, string>,
  kind: Negotiable,
  offers: (string | string[])[],
): string | string[] | false {
  const accepts = require('accepts') as typeof import('accepts');
  return accepts(messageOf(headers))[kind](offers.flat());
}

/** Which of the types a body has; `false` if none, `null` without a body. */
export function typeOfBody(
  headers: Record<string, string>,
  hasBody: boolean,
  types: (string | string[])[],
): string | false | null {
  const typeIs = require('type-is') as typeof import('type-is');
  if (!hasBody && !typeIs.hasBody(messageOf(headers))) return null;
  return typeIs.is(headers['content-type'] ?? '', types.flat());
}

/** The libraries look at the headers of Node's message, and at nothing else. */
function messageOf(headers: Record<string, string>): IncomingMessage {
  return { headers } as unknown as IncomingMessage;
}
