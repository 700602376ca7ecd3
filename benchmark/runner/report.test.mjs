// The report: correct tables and valid charts.
import { join } from 'node:path';
import test from 'ava';
import { rootFolder } from './build.mjs';
import { barChart, dotChart, lineChart, number } from './plot.mjs';
import { withoutRoot } from './results.mjs';
import { markdown } from './tables.mjs';

const about = {
  date: '2026-01-01T00:00:00.000Z',
  commit: 'abc',
  command: 'npm run bench --',
  machine: { cpu: 'a processor', cores: 2, memoryGiB: 8, kernel: '6.1', descriptorLimit: 20_000 },
  versions: { node: 'v20' },
  options: { pin: true, serverCore: 0, loadCore: 1, secondCore: 1, quick: false },
  notes: [],
  absent: [{ name: 'uwebsockets', reason: 'it is not installed' }],
};
const columns = [
  ['cpu_us', 'CPU µs/message'],
  ['per_second', 'messages/s'],
];
const figures = (cpu, perSecond, more = {}) => ({ cpu_us: cpu, per_second: perSecond, spread_percent: 5, ...more });

function page(peers, more = {}) {
  const outcome = { name: 'echo', title: 'an echo', columns, without: [], peers, ...more };
  return markdown(about, [outcome], { echo: ['plots/echo.svg'] });
}

test('the overview shows the ratio to Bun and to the bare epoll loop', (t) => {
  const text = page({
    millrace: { figures: figures(2, 10) },
    bun: { figures: figures(4, 5) },
    epoll: { figures: figures(1, 9) },
  });
  t.regex(text, /\| an echo: CPU µs\/message \| 2 \| 4 \| 1 \| 0\.500 \| 2 \|/);
  t.true(text.includes('![an echo](plots/echo.svg)'));
  t.true(text.includes('- `uwebsockets`: left out, it is not installed.'));
});

test('a failure is shown and does not count as a figure', (t) => {
  const text = page({
    millrace: { figures: figures(2, 10), error: 'violation: 3 answers\nnever | came' },
    bun: { figures: figures(4, 5) },
  });
  t.regex(text, /\| an echo: CPU µs\/message \| failed \| 4 \| {2}\| {2}\|/);
  t.true(text.includes('violation: 3 answers never \\| came'));
});

test('a peer without a row is not in the head', (t) => {
  const outcome = {
    name: 'echo',
    title: 'an echo',
    columns,
    without: [],
    peers: { epoll: { figures: figures(1, 9) } },
  };
  const notes = [
    { name: 'epoll', note: 'a bare loop' },
    { name: 'uring', note: 'a bare ring' },
  ];
  const versions = { node: 'v20', rustc: '1.95.0', epoll: 'this commit', uring: 'this commit' };
  const [head] = markdown({ ...about, versions, notes }, [outcome], {}).split('| scenario |');
  t.true(head.includes('node v20, rustc 1.95.0, epoll this commit\n'));
  t.true(head.includes('- `epoll`: a bare loop.'));
  t.false(head.includes('uring'));
});

test('a generator that was the limit is told, and so is a scenario that did not run', (t) => {
  t.true(page({ ws: { figures: figures(2, 10, { generator_is_the_limit: true }) } }).includes('| ws * |'));
  t.true(page({}, { skipped: 'it needs two cores and pinning' }).includes('Not run: it needs two cores and pinning.'));
});

test('two cores are set against one', (t) => {
  const peers = { millrace: { figures: figures(10, 100) }, 'millrace-2': { figures: figures(11, 180) } };
  const text = page(peers, { compare: { 'millrace-2': 'millrace' } });
  t.true(text.includes('1.10 times the CPU per unit, 1.80 times the throughput'));
});

/** A chart that a browser can draw: no number is missing, every tag is closed, nothing runs. */
function sound(t, svg, words) {
  t.false(/NaN|undefined|Infinity|<script/.test(svg));
  t.true(svg.startsWith('<svg ') && svg.endsWith('</svg>\n'));
  const open = [];
  for (const [, close, name, self] of svg.matchAll(/<(\/?)([a-z]+)[^>]*?(\/?)>/g)) {
    if (close) t.is(open.pop(), name);
    else if (!self) open.push(name);
  }
  t.deepEqual(open, []);
  for (const word of words) t.true(svg.includes(word), word);
}

test('bars carry their values, and a failure stands without one', (t) => {
  const bars = [
    { label: 'millrace', value: 0.456, strong: true },
    { label: 'a & b', value: 12_345 },
    { label: 'ws', note: 'failed' },
  ];
  sound(t, barChart({ title: '<echo>', subtitle: 'µs', bars }), [
    '&lt;echo&gt;',
    'a &amp; b',
    '0.456',
    '12,345',
    'failed',
  ]);
});

test('dots leave out what there is not', (t) => {
  const rows = [
    { label: 'millrace', values: [20, 80, 400] },
    { label: 'ws', values: [Number.NaN, 0, 90_000], note: 'overloaded' },
    { label: 'bun', values: [Number.NaN, undefined, Number.NaN], note: 'failed' },
  ];
  const svg = dotChart({ title: 'latency', subtitle: 'µs', series: ['p50', 'p99', 'p99.9'], rows });
  sound(t, svg, ['20 · 80 · 400', '90,000 overloaded', 'failed', 'p99.9']);
});

test('lines can be drawn on every kind of axis, with one point and with none', (t) => {
  const series = [
    {
      name: 'millrace',
      points: [
        [1, 0],
        [10, 5],
        [100, 7000],
      ],
    },
    { name: 'bun', points: [[10, 6]] },
    { name: 'ws', points: [] },
  ];
  for (const logX of [false, true]) {
    for (const logY of [false, true]) {
      const marks = [{ x: 10, label: 'sweet spot' }];
      const chart = {
        title: 'sweep',
        subtitle: '',
        xLabel: 'connections',
        yLabel: 'requests/s',
        series,
        logX,
        logY,
        marks,
      };
      sound(t, lineChart(chart), ['millrace', 'sweet spot', 'connections']);
    }
  }
});

test('numbers have three digits', (t) => {
  t.deepEqual([0, 0.03456, 1.5, 12.345, 99.95, 123.4, 1_234_567].map(number), [
    ...['0', '0.0346', '1.5', '12.3', '100', '123', '1,234,567'],
  ]);
});

test('results do not say where the clone lies', (t) => {
  const command = ['node', join(rootFolder, 'benchmark', 'peers', 'bun.mjs')];
  t.is(withoutRoot(JSON.stringify(command)), '["node","benchmark/peers/bun.mjs"]');
  t.is(withoutRoot('a table'), 'a table');
});
