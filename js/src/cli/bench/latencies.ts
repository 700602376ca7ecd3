/** Times, counted so that percentiles are right to 1 %. Owns the counts; knows nothing of what took so long. */

/** Durations from 1 µs to more than an hour. */
export class Latencies {
  /** By bucket: 64 for each doubling. */
  readonly #counts = new Uint32Array(BUCKETS);
  #count = 0;
  #max = 0;

  /** How many were added. */
  get count(): number {
    return this.#count;
  }

  /** The longest, in milliseconds. */
  get max(): number {
    return this.#max;
  }

  /** Adds one, in milliseconds. */
  add(ms: number): void {
    const bucket = bucketOf(ms);
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#count += 1;
    if (ms > this.#max) this.#max = ms;
  }

  /** What `percent` of them did not exceed, in milliseconds; 0 without any. */
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
