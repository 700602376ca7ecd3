// A WebSocket client in the runtime that runs this file: `global` is the runtime's own class, `ws` that of the package. It
// sends texts and bytes of growing length, each after the echo of the one before, and prints what it has seen as JSON.
import process from 'node:process';

import { patterned } from './patterned.mjs';

const [url, kind] = process.argv.slice(2);
const { WebSocket } = kind === 'ws' ? await import('ws') : globalThis;

const MESSAGES = [0, 10, 600, 600, 5000, 70_000, 300_000].flatMap((length, index) => {
  const text = patterned(index, length);
  return [text, new TextEncoder().encode(text)];
});

const ws = new WebSocket(url);
ws.binaryType = 'arraybuffer';
let [index, bytes] = [0, 0];

function next() {
  if (index === MESSAGES.length) ws.close(1000);
  else ws.send(MESSAGES[index]);
}

function isEcho(data) {
  const expected = MESSAGES[index];
  if (typeof expected === 'string') return data === expected;
  const got = new Uint8Array(data);
  return got.length === expected.length && got.every((byte, at) => byte === expected[at]);
}

ws.addEventListener('open', next);
ws.addEventListener('message', ({ data }) => {
  if (!isEcho(data)) throw new Error(`message ${index} came back changed`);
  bytes += data.length ?? data.byteLength;
  index++;
  next();
});
ws.addEventListener('close', ({ code }) => {
  console.log(JSON.stringify({ messages: index, bytes, code, extensions: ws.extensions }));
});
