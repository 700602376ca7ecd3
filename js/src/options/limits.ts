/** The options in `options.limits`. Most are generated from the gateway's tables; those that are words are here. */

import { choice, type Fields, shown } from './fields.js';

export type { GatewayLimits, Limits, ListenerLimits } from './limits.generated.js';
export { GATEWAY_RANGES, LISTENER_RANGES, OWN_LIMITS } from './limits.generated.js';

/** The limits that are words, with the words that each may be. */
export const GATEWAY_WORDS: Readonly<Record<'outboxPolicy' | 'backplaneFull', readonly string[]>> = {
  outboxPolicy: ['close', 'dropNewest', 'dropOldest'],
  backplaneFull: ['wait', 'drop'],
};

/** Reads the limits that are words. */
export function readWords(given: Fields, at: string, problems: string[]): Record<string, string> {
  const words: Record<string, string> = {};
  for (const [name, known] of Object.entries(GATEWAY_WORDS)) {
    const word = given[name];
    if (typeof word === 'string' && known.includes(word)) words[name] = word;
    else if (word !== undefined) problems.push(`${at}.${name} must be ${choice(known)}, not ${shown(word)}`);
  }
  return words;
}
