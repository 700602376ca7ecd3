// Has no handler but `handleCall`, which blocks its thread until the key `go` is set.
import { getKey, setKey } from '../millrace.mjs';

export function handleCall() {
  setKey('spins', '1');
  while (getKey('go') === undefined);
  return 'done';
}
