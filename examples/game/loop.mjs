// @ts-check
/** A fixed timestep: every tick stands for the same time, and there are as many of them as time has passed. */

/** After a pause, of the machine for instance, at most as many ticks are made up for; the rest of the time is left out. */
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

  /** Every wait is until a moment that is counted from the first tick: so what one timer is late by, the next one is not. */
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
