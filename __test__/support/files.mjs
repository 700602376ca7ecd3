// Static files under test: folders of files, and a client that sends paths exactly as they are given.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { within } from './deadline.mjs';
import { connectOptions } from './http.mjs';

/** A folder with these files (`{'a/b.txt': 'text or bytes'}`), to be removed by the caller. */
export function makeFolder(files) {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'millrace-static-')));
  for (const [name, content] of Object.entries(files)) write(folder, name, content);
  return folder;
}

/** The same, for one test. */
export function folderFor(t, files) {
  const folder = makeFolder(files);
  t.teardown(() => removeFolder(folder));
  return folder;
}

export function removeFolder(folder) {
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
}

export function write(folder, name, content) {
  const file = path.join(folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}

/** One request on a connection of its own: `{status, headers, bytes, text}`. */
export function request(address, target, { method = 'GET', headers = {} } = {}) {
  const { host, port, path: socketPath } = connectOptions(address);
  const options = { host, port, socketPath, path: target, method, headers, agent: false };
  const answer = new Promise((resolve, reject) => {
    const asked = http.request(options, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const bytes = Buffer.concat(chunks);
        resolve({ status: response.statusCode, headers: response.headers, bytes, text: bytes.toString() });
      });
    });
    asked.on('error', reject);
    asked.end();
  });
  return within(answer, `an answer to ${method} ${target}`);
}

/** `request` for one server. */
export const requestsTo = (server) => (target, options) => request(server.addresses[0], target, options);
