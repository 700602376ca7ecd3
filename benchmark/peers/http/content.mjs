// The content for the HTTP scenarios: a file, and a user as JSON.
import { fileURLToPath } from 'node:url';

/** The folder that is served, and the file of 1 KiB in it. */
export const publicFolder = fileURLToPath(new URL('./public/', import.meta.url));
export const filePath = '/1k.txt';

/** The user of that id. The generator compares the JSON byte by byte. */
export function user(id) {
  return { id, name: 'Ada Lovelace', email: 'ada@example.org', born: 1815 };
}
export const userPath = '/users/7';
