// The load tool's percentiles against sorted lists.
import { createRequire } from 'node:module';
import test from 'ava';

const { Latencies } = createRequire(import.meta.url)('../../js/dist/cli/bench/latencies.js');

test('percentiles are right to 1 %, whatever the distribution', (t) => {
  for (const value of [(i) => 0.05 + i / 1000, (i) => 1.01 ** i / 1000, (i) => (i % 2 === 0 ? 0.2 : 900), () => 3]) {
    const list = Array.from({ length: 2_000 }, (_, i) => Math.min(value(i), 3_000_000)).sort((a, b) => a - b);
    const latencies = new Latencies();
    for (const ms of list.toReversed()) latencies.add(ms);
    for (const percent of [1, 50, 90, 99, 99.9, 100]) {
      const exact = list[Math.ceil((list.length * percent) / 100) - 1];
      const found = latencies.percentile(percent);
      t.true(found >= exact * 0.999 && found <= exact * 1.012, `${percent} %: ${found} for ${exact}`);
    }
    t.is(latencies.max, list.at(-1));
    t.is(latencies.count, list.length);
  }
});

test('nothing measured is 0', (t) => {
  t.is(new Latencies().percentile(50), 0);
});
