// A worker that is not ready while the key "hold" is there, and ends its thread when it is told to.
import { getKey } from '../millrace.mjs';

export async function handleStart() {
  while (getKey('hold') !== undefined) await new Promise((resolve) => setTimeout(resolve, 10));
}

export function handleTextMessage() {
  process.exit(1);
}
