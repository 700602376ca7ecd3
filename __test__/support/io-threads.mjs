// The I/O threads of this process, as Linux lists them.
import { readdirSync, readFileSync } from 'node:fs';

/** `PF_EXITING` of Linux' `sched.h`: the thread executes nothing of the process any more. */
const EXITING = 4;

/**
 * Their names, and those of backplanes: `millrace-io-0` is the first one of each gateway that runs. The kernel lists a thread for a
 * moment after it could be joined: such threads do not count.
 */
export function ioThreads() {
  const stats = readdirSync('/proc/self/task').map((task) => {
    try {
      return readFileSync(`/proc/self/task/${task}/stat`, 'utf8');
    } catch {
      return '';
    }
  });
  return stats.flatMap((stat) => {
    // "id (name) state parent group session terminal foreground flags …", proc_pid_stat(5)
    const [, name, rest] = /^\d+ \((.*)\) (.*)$/s.exec(stat) ?? ['', '', ''];
    return /^millrace-(io|back)/.test(name) && (Number(rest.split(' ')[6]) & EXITING) === 0 ? [name] : [];
  });
}
