// Transfers the buffer of every binary message (which detaches the buffer of its batch) and keeps the data.
import { send } from '../millrace.mjs';

const kept = [];

export function handleTextMessage(text, socketId) {
  send(socketId, text === 'kept' ? JSON.stringify(kept.map((data) => Buffer.from(data).toString())) : text);
}

export function handleBinaryMessage(data, socketId) {
  const name = Buffer.from(data).toString();
  const moved = structuredClone(data, { transfer: [data.buffer] });
  kept.push(moved);
  send(socketId, `b ${name.slice('binary '.length)} ${data.length === 0 ? 'transferred' : 'not transferred'}`);
}
