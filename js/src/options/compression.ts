/** The option `compression` of listeners that speak HTTP: its type and its parser. Compresses nothing. */

import { type Fields, readFlag, readNumber, readObject, shown } from './fields.js';

/**
 * How the messages of WebSockets are compressed (permessage-deflate, RFC 7692). Clients that do not offer it send and get
 * plain messages.
 */
export interface CompressionOptions {
  /** Messages with fewer bytes are sent as they are. Default 512. */
  threshold?: number;
  /** The effort: 1 is fastest, 9 makes the smallest messages. Default 3. */
  level?: number;
  /**
   * Whether messages to a client refer to earlier ones. They get smaller, but each client needs frames of its own, which
   * cost a publication to many subscribers as much as a compression for each. Default false.
   */
  serverContextTakeover?: boolean;
  /**
   * Whether a client's messages may refer to its earlier ones, so that the gateway keeps the last of them: up to 32 KiB a
   * client, or 2 to the power of `clientMaxWindowBits` bytes if the client lets it choose. `'bounded'` allows it while
   * `memoryBytes` has room, `true` always. Default `'bounded'`.
   */
  clientContextTakeover?: boolean | 'bounded';
  /** How far messages to a client refer back: 2 to the power of this many bytes, from 8 to 15. Default 15. */
  serverMaxWindowBits?: number;
  /** The same for messages of clients that let the server choose. Browsers do. Default 15. */
  clientMaxWindowBits?: number;
  /**
   * The bytes of earlier messages that the gateway keeps for all its clients together. Clients that connect once they are
   * used up get compression without context takeover. Default 64 MiB.
   */
  memoryBytes?: number;
}

/** The options in the form of the native side. Holds only the given options. */
export type CompressionPlan = Omit<CompressionOptions, 'clientContextTakeover'> & {
  clientContextTakeover?: 'never' | 'bounded' | 'always';
};

const WINDOW_BITS = { least: 8, most: 15 };
const NUMBERS = {
  threshold: { least: 0, most: 2_147_483_647 },
  level: { least: 1, most: 9 },
  serverMaxWindowBits: WINDOW_BITS,
  clientMaxWindowBits: WINDOW_BITS,
  memoryBytes: { least: 0, most: 2 ** 40 },
} as const;
const KEYS = [...Object.keys(NUMBERS), 'serverContextTakeover', 'clientContextTakeover'];
const TAKEOVER: ReadonlyMap<unknown, NonNullable<CompressionPlan['clientContextTakeover']>> = new Map<
  unknown,
  'never' | 'bounded' | 'always'
>([
  [false, 'never'],
  [true, 'always'],
  ['bounded', 'bounded'],
]);

/** Reads the option. `false` means that it is off, although it may be on elsewhere. */
export function readCompression(value: unknown, at: string, problems: string[]): CompressionPlan | false | undefined {
  if (value === undefined || value === false) return value;
  if (value === true) return {};
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    problems.push(`${at} must be true, false or an object, not ${shown(value)}`);
    return undefined;
  }
  const given: Fields = readObject(value, at, KEYS, problems);
  const plan: CompressionPlan = {};
  for (const [name, range] of Object.entries(NUMBERS)) {
    const number = readNumber(given[name], `${at}.${name}`, range, problems);
    if (number !== undefined) plan[name as keyof typeof NUMBERS] = number;
  }
  const server = readFlag(given['serverContextTakeover'], `${at}.serverContextTakeover`, problems);
  if (server !== undefined) plan.serverContextTakeover = server;
  const wanted = given['clientContextTakeover'];
  const client = TAKEOVER.get(wanted);
  if (client !== undefined) plan.clientContextTakeover = client;
  else if (wanted !== undefined) {
    problems.push(`${at}.clientContextTakeover must be true, false or 'bounded', not ${shown(wanted)}`);
  }
  return plan;
}
