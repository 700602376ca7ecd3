/** What the functions take: payloads, names and whom they mean. */

/** A message or value. A string is a text message, bytes are a binary one. */
export type Data = string | Uint8Array | ArrayBuffer;

/** The name of a channel or key. Names are bytes: a string is its UTF-8. The empty name is valid. */
export type Name = string | Uint8Array | ArrayBuffer;

/**
 * Every channel that a glob matches: `*` is any bytes, `?` any one, `[a-c]` one of a set, `[^a]` one not in it, `\`
 * takes the next byte as it is. At most 1,024 bytes; a string is its UTF-8, and `?` is one byte of it.
 */
export interface Pattern {
  /** Its text. */
  pattern: Name;
}

/** A socket id, a channel name, or an array mixing both. */
export type Target = number | Name | (number | Name)[];

/** Options of `send`. */
export interface SendOptions {
  /** Sockets that are left out, with all virtual sockets that resolve to them. */
  except?: number | number[];
}
