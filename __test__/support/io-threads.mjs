// The I/O threads of this process, as Linux lists them.
import { readdirSync, readFileSync } from 'node:fs';

/** `PF_EXITING` of Linux' `sched.h`: the thread no longer executes code of the process. */
const EXITING = 4;

/**
 * The names of the I/O threads and of the threads of backplanes; `millrace-io-0` is the first one of each running
 * gateway. The kernel still lists a thread shortly after it was joined: such threads do not count.
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
