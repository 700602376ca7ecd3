// Reads large messages while they arrive. Texts tell how: JSON commands are answered like those of the commands worker, and
// messages are read as `mode` of the socket says.
import { createHash } from 'node:crypto';
import { setTimeout as later } from 'node:timers/promises';

import { getKey, send, setKey } from '../millrace.mjs';

const modes = new Map();

export function handleOpen(_socketId, _ip, _headers, { protocols }) {
  return protocols.includes('other') ? { protocol: 'other' } : true;
}

export function handleTextMessage(text, socketId) {
  const { n, cmd, mode } = text.startsWith('{"cmd"') ? JSON.parse(text) : {};
  if (cmd === 'mode') modes.set(socketId, mode);
  if (cmd !== undefined) send(socketId, JSON.stringify({ re: n, value: socketId }));
  else send(socketId, `whole ${text.length}`);
}

export function handleBinaryMessage(data, socketId) {
  send(socketId, `whole ${data.length} bytes`);
}

export function handleMessageStream(stream, socketId) {
  const read = readers[modes.get(socketId) ?? 'hash'];
  return read(stream, socketId);
}

const readers = {
  /** Answers with what arrived. */
  async hash(stream, socketId) {
    const hash = createHash('sha256');
    let [pieces, bytes, most] = [0, 0, 0];
    try {
      for await (const piece of stream) {
        if (typeof piece !== (stream.binary ? 'object' : 'string')) throw new Error(`got ${typeof piece}`);
        hash.update(piece);
        const size = Buffer.byteLength(piece);
        pieces += 1;
        bytes += size;
        most = Math.max(most, size);
        setKey(`read ${socketId}`, String(bytes));
      }
    } catch (error) {
      setKey(`error ${socketId}`, `${error.code} after ${bytes}`);
      throw error;
    }
    const { binary } = stream;
    send(socketId, JSON.stringify({ binary, bytes, several: pieces > 1, most, hash: hash.digest('hex') }));
  },
  /** Waits for a key before it reads. */
  async late(stream, socketId) {
    while (getKey('read on') === undefined) await later(2);
    await readers.hash(stream, socketId);
  },
  /** Reads one piece and leaves. */
  async first(stream, socketId) {
    for await (const piece of stream) {
      send(socketId, `first ${piece.length > 0}`);
      return;
    }
  },
  ignore(stream, socketId) {
    send(socketId, `ignored ${stream.binary ? 'bytes' : 'text'}`);
  },
  /** Does not wait for the reader. */
  beside(stream, socketId) {
    readers.hash(stream, socketId);
  },
  throws() {
    throw new Error('it throws');
  },
  /** Never reads, and never ends. */
  hang: () => new Promise(() => {}),
};
