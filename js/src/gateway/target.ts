/** The arguments of the messaging functions: payloads, names and targets. */

import { shown } from '../options/fields.js';

/** A message or value. A string is a text message, bytes are a binary one. */
export type Data = string | Uint8Array | ArrayBuffer;

/** The name of a channel or key. Names are bytes; a string is encoded as UTF-8. The empty name is valid. */
export type Name = string | Uint8Array | ArrayBuffer;

/**
 * A glob that stands for every channel that it matches. `*` matches any bytes, `?` one byte, `[a-c]` one byte of a set,
 * `[^a]` one byte that is not in it, and `\` takes the next byte literally. At most 1,024 bytes. A string is encoded as
 * UTF-8, and `?` matches one byte of that.
 */
export interface Pattern {
  /** The text of the glob. */
  pattern: Name;
}

/** A socket id, a channel name, or an array mixing both. */
export type Target = number | Name | (number | Name)[];

/** Options of `send`. */
export interface SendOptions {
  /** Sockets that are left out, and all virtual sockets that resolve to them. */
  except?: number | number[];
  /**
   * Whether connections with `compression` may get the message compressed. Default: true. Say false for data that does
   * not get shorter, such as images, which saves the attempt; the terms of a channel say it for all its messages.
   */
  compress?: boolean;
}

/** @throws {TypeError} if the option is no boolean */
export function mayCompress(compress: unknown): boolean {
  if (typeof compress === 'boolean') return compress;
  throw new TypeError(`argument 'options.compress' must be true or false, not ${shown(compress)}`);
}
