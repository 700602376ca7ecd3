// @ts-check
/** A fixed timestep: every tick advances the world by the same time, and late ticks are caught up. */

/** The most ticks that are caught up after a pause, for example of the machine; the rest of the pause is skipped. */
const MOST_BEHIND = 10;

export class Loop {
  /** Ticks so far. */
  ticks = 0;
  /** How many of them came later than the next one should have. */
  late = 0;
  #period;
  #act;
  #origin = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /**
   * @param {number} rate ticks per second
   * @param {(ticks: number) => void} act makes the ticks that are due, usually one
   */
  constructor(rate, act) {
    this.#period = 1000 / rate;
    this.#act = act;
  }

  start() {
    this.#origin = performance.now() - this.ticks * this.#period;
    this.#wait();
  }

  stop() {
    clearTimeout(this.#timer);
  }

  /** Each wait ends at a time that is computed from the first tick, so that delays of timers do not add up. */
  #wait() {
    const next = this.#origin + (this.ticks + 1) * this.#period;
    this.#timer = setTimeout(() => this.#run(), Math.ceil(next - performance.now()));
  }

  #run() {
    const passed = performance.now() - this.#origin;
    let due = Math.floor(passed / this.#period) - this.ticks;
    if (due > MOST_BEHIND) {
      this.#origin += (due - MOST_BEHIND) * this.#period;
      due = MOST_BEHIND;
    }
    if (due > 0) {
      this.ticks += due;
      this.late += due - 1;
      this.#act(due);
    }
    this.#wait();
  }
}
