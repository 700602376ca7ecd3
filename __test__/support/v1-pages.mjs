// Pages of an example, for the server in the tests that speaks millrace.v1.
import { readFile } from 'node:fs/promises';
import path from 'node:path';

const TYPES = { '.html': 'text/html', '.mjs': 'text/javascript', '.js': 'text/javascript', '.css': 'text/css' };

/** The files of a folder, and others by their paths. */
export function pagesOf(folder, others = {}) {
  return async (pathname) => {
    const name = pathname === '/' ? '/index.html' : pathname;
    const file = others[name] ?? path.join(folder, name);
    const body = await readFile(file).catch(() => undefined);
    return body && { type: TYPES[path.extname(name)] ?? 'application/octet-stream', body };
  };
}
