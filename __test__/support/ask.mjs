// Requests to the server under test, with Node's own client.
import http from 'node:http';

import { SOON, within } from './deadline.mjs';
import { connectOptions } from './http.mjs';

/**
 * Sends a request and reads its answer: `{status, headers, text, bytes}`. `body` may be a string or bytes, or an async
 * iterable of these, which is sent in chunks.
 */
export function ask(address, path, { method = 'GET', headers = {}, body, agent = false, ms = SOON } = {}) {
  const { path: socketPath, ...target } = connectOptions(address);
  const answer = new Promise((resolve, reject) => {
    const request = http.request({ ...target, socketPath, path, method, headers, agent }, async (response) => {
      const pieces = [];
      try {
        for await (const piece of response) pieces.push(piece);
      } catch (error) {
        reject(error);
        return;
      }
      const bytes = Buffer.concat(pieces);
      resolve({ status: response.statusCode, headers: response.headers, bytes, text: bytes.toString() });
    });
    request.on('error', reject);
    send(request, body).catch(reject);
  });
  return within(answer, `an answer to ${method} ${path}`, ms);
}

async function send(request, body) {
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) {
    request.end(body);
    return;
  }
  for await (const piece of body) {
    if (!request.write(piece)) await new Promise((resolve) => request.once('drain', resolve));
  }
  request.end();
}
