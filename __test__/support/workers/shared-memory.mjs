// Counts the calls of its handlers in shared memory, which is its workerArg, so that a test can read them in any state.
import { send } from '../millrace.mjs';

let counts;

export function handleStart(buffer) {
  counts = new Int32Array(buffer);
}

export function handleTextMessage(text, socketId) {
  Atomics.add(counts, 0, 1);
  if (text.startsWith('wait')) {
    // Busy until the test stores 1 at index 1.
    while (Atomics.load(counts, 1) === 0);
  }
  send(socketId, text);
}

export function handleClose() {
  Atomics.add(counts, 2, 1);
}
