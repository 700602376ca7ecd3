/**
 * Strings and bytes that were written, with their encodings. Tells which can be passed on unchanged, and joins them as
 * bytes.
 */

/** Strings or bytes, each followed by its encoding. */
export type Parts = (string | Uint8Array | BufferEncoding | undefined)[];

/** Joins all parts. */
export function joined(parts: Parts): Uint8Array {
  const buffers: Uint8Array[] = [];
  for (let at = 0; at < parts.length; at += 2) {
    const part = parts[at] as string | Uint8Array;
    buffers.push(typeof part === 'string' ? Buffer.from(part, parts[at + 1] as BufferEncoding | undefined) : part);
  }
  return Buffer.concat(buffers);
}

/** Whether strings of this encoding are UTF-8. */
export function isUtf8(encoding: unknown): boolean {
  return encoding === undefined || encoding === 'utf8' || encoding === 'utf-8';
}

/** Whether strings of this encoding are Latin-1. */
export function isLatin1(encoding: unknown): boolean {
  return encoding === 'latin1' || encoding === 'ascii';
}
