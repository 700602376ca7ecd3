/** Texts and bytes that were written, with their encodings: which may be given away as they are, and all of them as bytes. */

/** Each text or bytes with its encoding behind it. */
export type Parts = (string | Uint8Array | BufferEncoding | undefined)[];

/** All of them. */
export function joined(parts: Parts): Uint8Array {
  const buffers: Uint8Array[] = [];
  for (let at = 0; at < parts.length; at += 2) {
    const part = parts[at] as string | Uint8Array;
    buffers.push(typeof part === 'string' ? Buffer.from(part, parts[at + 1] as BufferEncoding | undefined) : part);
  }
  return Buffer.concat(buffers);
}

/** Whether text of this encoding is UTF-8. */
export function isUtf8(encoding: unknown): boolean {
  return encoding === undefined || encoding === 'utf8' || encoding === 'utf-8';
}

/** … or Latin-1. */
export function isLatin1(encoding: unknown): boolean {
  return encoding === 'latin1' || encoding === 'ascii';
}
