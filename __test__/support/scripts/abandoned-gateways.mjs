// Threads that start a gateway and end without stopping it. Resolves with how many threads of Millrace were there while
// each ran, how many when it was said to have ended, and how many were left in the end.
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';

/** `PF_EXITING` of Linux' `sched.h`: the thread executes nothing of the process any more. */
const EXITING = 4;

/**
 * Of the gateways of this process, by their names. The kernel lists a thread for a moment after it could be joined: such
 * threads do not count.
 */
function threads() {
  const stats = readdirSync('/proc/self/task').map((task) => {
    try {
      return readFileSync(`/proc/self/task/${task}/stat`, 'utf8');
    } catch {
      return '';
    }
  });
  return stats.filter((stat) => {
    // "id (name) state parent group session terminal foreground flags …", proc_pid_stat(5)
    const [, name, rest] = /^\d+ \((.*)\) (.*)$/s.exec(stat) ?? ['', '', ''];
    return /^millrace-(io|back)/.test(name) && (Number(rest.split(' ')[6]) & EXITING) === 0;
  }).length;
}

export default async function abandonedGateways(_millrace, rounds, deadlineMs) {
  const seen = [];
  for (let round = 0; round < rounds; round++) {
    const thread = new Worker(new URL('./abandoned-gateway-thread.mjs', import.meta.url));
    await once(thread, 'message');
    const during = threads();
    const ended = once(thread, 'exit');
    await thread.terminate();
    await ended;
    const after = threads();
    const deadline = performance.now() + deadlineMs;
    while (threads() > 0 && performance.now() < deadline) await setImmediate();
    seen.push({ during, after, left: threads() });
  }
  return seen;
}
