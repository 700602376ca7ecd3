// Executes the plan in `workerArg`: lists of steps by name, such as `start-2` for the handleStart of the second worker
// that started, and likewise `close-2` and `stop-2`. Records the beginning and the end of each in the key "record".
import { setTimeout as later } from 'node:timers/promises';

import { getKey, send, setKeyIf } from '../millrace.mjs';

let plan = {};
let number = 0;

const text = (bytes) => (bytes === undefined ? '' : Buffer.from(bytes).toString());
const noted = () => text(getKey('record')).split(' ');

/** Appends a word, which may depend on the earlier ones. */
function note(word) {
  for (;;) {
    const before = getKey('record');
    const next = word(text(before));
    if (setKeyIf('record', `${text(before)}${next} `, before)) return next;
  }
}

const steps = {
  /** Waits until a word is recorded, or a key with that name is set. */
  after: async (word) => {
    while (!noted().includes(word) && getKey(word) === undefined) await later(2);
  },
  lasts: (ms) => later(ms),
  throws: (message) => {
    throw new Error(message);
  },
  exits: (code) => process.exit(code),
  spins: () => {
    for (;;);
  },
};

async function follow(name) {
  for (const [step, value] of plan[name] ?? []) await steps[step](value);
  note(() => `${name}-done`);
}

export async function handleStart(arg) {
  plan = arg ?? {};
  const name = note((before) => `start-${(before.match(/start-\d+ /g)?.length ?? 0) + 1}`);
  number = Number(name.slice('start-'.length));
  await follow(name);
}

export function handleTextMessage(message, socketId) {
  if (message === 'exit') process.exit(3);
  send(socketId, `worker ${number}`);
}

export async function handleClose() {
  await follow(note(() => `close-${number}`));
}

export async function handleStop() {
  await follow(note(() => `stop-${number}`));
}
