/** Writing what comes to a file that is there whole or not at all. Knows no messages. */

import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';

/**
 * Writes a stream into a new file beside `target`, which takes its name when all of it is written.
 *
 * @throws (as a rejection) what the stream or the file system fails with; the new file is removed, and what stood there stays
 */
export async function save(source: Readable, target: string | URL): Promise<void> {
  const path = typeof target === 'string' ? target : fileURLToPath(target);
  const temporary = `${path}.${randomUUID()}.part`;
  try {
    await pipeline(source, createWriteStream(temporary, { flags: 'wx' }));
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
