// The scenario `sockety`: what its rows are, the runs that fail, its table, and the peers that it needs.
import test from 'ava';
import { rows, total, verdict } from '../peers/sockety/rows.mjs';
import { drawCharts } from './charts.mjs';
import { choosePeers, participants } from './peers.mjs';
import { needsGenerator, scenarios } from './scenarios.mjs';
import { leftOut } from './sockety.mjs';
import { packageOf, socketyModule } from './sockety-module.mjs';
import { markdown } from './tables.mjs';

const scenario = scenarios.find(({ name }) => name === 'sockety');
const row = (name) => rows.find((each) => each.name === name);

test('every payload has an acknowledged row beside it, with as many tasks at a time', (t) => {
  t.is(new Set(rows.map(({ name }) => name)).size, rows.length);
  const payloads = rows.filter(({ contents, acknowledged }) => contents && !acknowledged);
  t.is(payloads.length, 4);
  for (const { name, bytes, atOnce } of payloads) {
    t.like(row(`${name}-ack`), { bytes, atOnce, acknowledged: true });
  }
});

test('every finished task must have come, once', (t) => {
  const wrong = (name, found) => verdict(row(name), { counted: 'messages', ...found });
  t.is(wrong('none', { tasks: 5, handled: 5, bytes: 120 }), undefined);
  t.is(wrong('none', { tasks: 5, handled: 5, bytes: null }), undefined);
  t.regex(wrong('none', { tasks: 5, handled: 4, bytes: 120 }), /5 tasks were finished, but 4 came/);
  t.regex(wrong('none', { tasks: 5, handled: 6, bytes: 150 }), /but 6 came/);
  t.regex(wrong('none', { tasks: 5, handled: 5, bytes: 119 }), /only 119 bytes/);
  t.regex(wrong('data-1m', { tasks: 2, handled: 2, bytes: 2 << 20, counted: 'bytes' }), /2097152 came/);
  t.regex(wrong('none', { tasks: 0, handled: 0, bytes: 0 }), /no task/);
  t.is(wrong('heartbeat', { tasks: 9, handled: 0, bytes: 9, counted: 'bytes' }), undefined);
  t.regex(wrong('heartbeat', { tasks: 9, handled: 0, bytes: 8, counted: 'bytes' }), /but 8 came/);
  t.is(wrong('heartbeat', { tasks: 9, handled: 9, bytes: null, counted: 'bytes' }), undefined);
  t.regex(wrong('heartbeat', { tasks: 9, handled: 0, bytes: null, counted: 'bytes' }), /but 0 came/);
});

test('workers count for themselves, and all of them see the bytes', (t) => {
  const answers = [
    { worker: 1, handled: 10, bytes: 100 },
    { worker: 1, handled: 12, bytes: 120 },
    { worker: 2, handled: 7, bytes: 130 },
  ];
  t.deepEqual(total(answers), { handled: 19, bytes: 130 });
  t.deepEqual(total([{ worker: 0, handled: 3, bytes: null }]), { handled: 3, bytes: null });
});

test('it needs no generator, and only its own peers', (t) => {
  t.false(needsGenerator(['sockety']));
  t.true(needsGenerator(['sockety', 'echo']));
  t.true(needsGenerator(['study']));
  const options = {
    peers: ['millrace', 'epoll', 'ws', 'sockety', 'node-http', 'node-http2'],
    threads: 1,
    ioThreads: 1,
  };
  const { peers, absent } = choosePeers(options, {}, ['sockety']);
  const names = [...peers, ...absent].map(({ name }) => name).sort();
  t.deepEqual(names, ['millrace', 'node-http', 'node-http2', 'sockety']);
  const taking = participants(scenario, peers, {}).taking.map(({ name }) => name);
  t.true(taking.includes('node-http2'));
});

test('HTTP/1 has only what is answered', (t) => {
  const there = rows.filter((each) => leftOut('node-http', each) === undefined).map(({ name }) => name);
  t.deepEqual(there, ['short', 'regular', 'data-1m-ack', 'data-4m-ack', 'file-memory-ack', 'file-fs-ack']);
  t.true(rows.every((each) => leftOut('millrace-2', each) === undefined));
});

test('the original has the name that its reader says', (t) => {
  t.is(socketyModule({}), 'sockety');
  t.is(socketyModule({ SOCKETY_MODULE: '@a/b/c' }), '@a/b/c');
  t.deepEqual(['sockety', 'millrace/sockety', '@a/b/c', '@a/b'].map(packageOf), [
    'sockety',
    'millrace',
    '@a/b',
    '@a/b',
  ]);
});

test('a table of rows', (t) => {
  const figures = { per_second: 123_456.7, client_cpu_us: 1.234, server_cpu_us: 0.5 };
  const outcome = {
    ...scenario,
    note: 'warm-up 1 ms',
    without: [],
    peers: {
      millrace: { rows: { heartbeat: { figures }, short: { figures, error: '5 tasks | 4 came' } }, error: 'short: …' },
      'node-http': { rows: { short: { figures } } },
    },
  };
  const options = { pin: false, quick: true };
  const machine = { cpu: 'a processor', cores: 2, memoryGiB: 8, kernel: '6.1', descriptorLimit: 1 };
  const text = markdown({ machine, options, versions: {}, notes: [], absent: [] }, [outcome], {});
  t.true(text.includes('| a task | peer | QPS | client CPU µs/task | server CPU µs/task | failure |'));
  t.true(text.includes('| heartbeat | millrace | 123457 | 1.23 | 0.500 |  |'));
  t.true(text.includes('| short response | millrace | 123457 | 1.23 | 0.500 | 5 tasks \\| 4 came |'));
  t.false(text.includes('| heartbeat | node-http |'));
  t.false(text.includes('millrace / bun'));
  t.deepEqual(drawCharts('/nowhere', [outcome]), {});
});
