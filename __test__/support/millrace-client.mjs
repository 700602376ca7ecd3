// The only place where the tests import the client, also with another clock.
import { readFile } from 'node:fs/promises';
import { transform } from 'esbuild';

// biome-ignore lint/correctness/useImportExtensions: the built file, not its types
export * from '../../js/dist/client.mjs';

const file = new URL('../../js/dist/client.mjs', import.meta.url);
let copies = 0;

/** The client's module with the timers and the time of `clock`: `setTimeout`, `clearTimeout`, `now`, `random`. */
export async function clientWith(clock) {
  copies += 1;
  const name = `clock${copies}`;
  globalThis[name] = clock;
  const names = ['setTimeout', 'clearTimeout'].map((timer) => [timer, `${name}.${timer}`]);
  const define = Object.fromEntries([...names, ['performance.now', `${name}.now`], ['Math.random', `${name}.random`]]);
  const { code } = await transform(await readFile(file, 'utf8'), { format: 'esm', define });
  return import(`data:text/javascript;base64,${Buffer.from(code).toString('base64')}`);
}

/** Time that passes faster by a factor. */
export function fasterClock(factor) {
  return {
    setTimeout: (call, ms, ...given) => setTimeout(call, ms / factor, ...given),
    clearTimeout,
    now: () => performance.now() * factor,
    random: Math.random,
  };
}

/** Time that passes when the test says so. */
export class ManualClock {
  #now = 0;
  #timers = new Map();
  #serial = 0;
  chance = 0.5;

  now = () => this.#now;
  random = () => this.chance;

  setTimeout = (call, ms) => {
    this.#serial += 1;
    this.#timers.set(this.#serial, { at: this.#now + ms, ms, call });
    return this.#serial;
  };

  clearTimeout = (id) => void this.#timers.delete(id);

  /** The delays that are awaited, in the order of their beginning. */
  get delays() {
    return [...this.#timers.values()].map(({ ms }) => ms);
  }

  /** Lets time pass while no timer can run, as in a page that sleeps; then those that are due run. */
  sleep(ms) {
    this.#now += ms;
    this.pass(0);
  }

  /** Lets time pass, timer by timer. */
  pass(ms) {
    const end = this.#now + ms;
    for (;;) {
      const due = [...this.#timers]
        .filter(([, { at }]) => at <= end)
        .sort(([, one], [, other]) => one.at - other.at)[0];
      if (!due) break;
      this.#timers.delete(due[0]);
      this.#now = Math.max(this.#now, due[1].at);
      due[1].call();
    }
    this.#now = end;
  }
}
