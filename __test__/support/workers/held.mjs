// A worker that is not ready while the key "hold" exists, and ends its thread when it gets a message.
import { getKey } from '../millrace.mjs';

export async function handleStart() {
  while (getKey('hold') !== undefined) await new Promise((resolve) => setTimeout(resolve, 10));
}

export function handleTextMessage() {
  process.exit(1);
}
