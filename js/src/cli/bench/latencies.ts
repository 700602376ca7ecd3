/** Counts durations so that percentiles are accurate to 1 %. Does not know what was measured. */

/** Counts durations from 1 µs to more than an hour. */
export class Latencies {
  /** Counts by bucket: 64 buckets for each doubling. */
  readonly #counts = new Uint32Array(BUCKETS);
  #count = 0;
  #max = 0;

  /** The number of durations. */
  get count(): number {
    return this.#count;
  }

  /** The longest duration, in milliseconds. */
  get max(): number {
    return this.#max;
  }

  /** Adds a duration in milliseconds. */
  add(ms: number): void {
    const bucket = bucketOf(ms);
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#count += 1;
    if (ms > this.#max) this.#max = ms;
  }

  /** The duration that `percent` of them did not exceed, in milliseconds. 0 if there are none. */
  percentile(percent: number): number {
    let left = Math.ceil((this.#count * percent) / 100);
    for (const [bucket, count] of this.#counts.entries()) {
      left -= count;
      if (left <= 0 && count > 0) return Math.min(upperEnd(bucket), this.#max);
    }
    return this.#max;
  }
}

/** Buckets for each doubling. */
const FINE = 64;

const DOUBLINGS = 32;
const BUCKETS = FINE * DOUBLINGS;

function bucketOf(ms: number): number {
  const micros = Math.max(ms * 1000, 1);
  return Math.min(Math.floor(Math.log2(micros) * FINE), BUCKETS - 1);
}

function upperEnd(bucket: number): number {
  return 2 ** ((bucket + 1) / FINE) / 1000;
}
