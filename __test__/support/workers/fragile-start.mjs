// The commands worker, but handleStart fails as often as the key "fail-starts" says (one character each).
// It counts its starts in the key "starts" and the closes it handled in the key "closes".
import { getKey, setKey, setKeyIf } from '../millrace.mjs';
import * as commands from './commands.mjs';

export * from './commands.mjs';

/** Takes one character off the key, atomically; false when none is left. */
function takeOne() {
  for (;;) {
    const left = getKey('fail-starts');
    if (left === undefined || left.length === 0) return false;
    if (setKeyIf('fail-starts', left.subarray(1), left)) return true;
  }
}

function count(key) {
  for (;;) {
    const before = getKey(key);
    const after = String(Number(before === undefined ? 0 : Buffer.from(before).toString()) + 1);
    if (setKeyIf(key, after, before)) return;
  }
}

export function handleStart() {
  setKey('last-start', String(Date.now()));
  count('starts');
  if (takeOne()) throw new Error('start failed on request');
}

export function handleClose(...args) {
  count('closes');
  commands.handleClose(...args);
}
