// The commands worker with a handleDrain that counts per socket in the key/value store.
import { getKey, setKey } from '../millrace.mjs';

export * from './commands.mjs';

export function handleDrain(socketId) {
  const key = `drained ${socketId}`;
  setKey(key, String(Number(Buffer.from(getKey(key) ?? '0').toString()) + 1));
}
