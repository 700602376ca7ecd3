// The scenario `splice`: its rows, the generator's arguments, the figures, and the tables.
import test from 'ava';
import { choosePeers, participants } from './peers.mjs';
import { needsGenerator, needsPackages, scenarios } from './scenarios.mjs';
import { compare, figuresOf, loadArgs, rows, targetHandler } from './splice-rows.mjs';
import { markdown } from './tables.mjs';

const scenario = scenarios.find(({ name }) => name === 'splice');
const row = (name) => rows.find((each) => each.name === name);

test('both parts have the whole matrix, and several targets in a session', (t) => {
  t.is(new Set(rows.map(({ name }) => name)).size, rows.length);
  for (const part of ['round-trip', 'flow']) {
    for (const clients of [32, 128, 512]) {
      for (const size of [32, 128, 1024, 4098]) t.truthy(row(`${part}-${clients}x1-${size}`));
    }
    t.truthy(row(`${part}-128x1-64`), 'the size of the goal');
    t.true(rows.some((each) => each.part === part && each.targets > 1));
  }
});

test('through the multiplexer and directly there are as many lanes', (t) => {
  const several = row('round-trip-16x8-128');
  const target = { port: 5, pid: 7 };
  t.deepEqual(loadArgs(several, false, target), [
    ...['splice', '--connections=16', '--upstreams=8', '--upstream-port=5', '--size=128', '--upstream-pid=7'],
  ]);
  t.deepEqual(loadArgs(several, true, target), ['splice', '--connections=128', '--upstreams=0', '--size=128']);
  t.is(loadArgs(row('flow-32x1-32'), false, target)[0], 'splice-flow');
  t.deepEqual(loadArgs(row('apart-128x1-32'), true, target).slice(0, 2), ['splice-flow', '--apart']);
  t.is(targetHandler(row('apart-128x1-32')), 'count');
  t.is(targetHandler(several), 'echo');
  t.is(targetHandler(row('flow-32x1-32')), 'count');
});

test('a round trip is relayed twice, a message one way once, one of a direct connection never', (t) => {
  const report = { per_second: 1000, cpu_us: 8, p50_us: 1, p99_us: 2, server_share: 1, generator_share: 0.5 };
  const options = { pin: true, loadCore: 1, secondCore: 1 };
  const figures = (name, direct) => figuresOf(row(name), { ...report, upstream_share: 0.2 }, direct, options);
  t.is(figures('round-trip-128x1-64', false).relayed_us, 4);
  t.is(figures('flow-128x1-64', false).relayed_us, 8);
  t.is(figures('apart-128x1-128', false).relayed_us, 8);
  t.is(figures('round-trip-128x1-64', true).relayed_us, undefined);
  t.is(figures('flow-128x1-64', false).p99_us, undefined);
  // the bytes that the target gets, without the index
  t.is(figures('flow-32x1-4098', false).payload_mibit, (1000 * 4096 * 8) / 2 ** 20);
});

test('clients and targets on one core are the limit together, on two each for itself', (t) => {
  const limit = (shares, loadCore, secondCore, pin = true) => {
    const [server_share, generator_share, upstream_share] = shares;
    const report = { per_second: 1, cpu_us: 1, server_share, generator_share, upstream_share };
    return figuresOf(row('flow-32x1-32'), report, false, { pin, loadCore, secondCore }).generator_is_the_limit;
  };
  t.true(limit([0.7, 0.6, 0.38], 1, 1));
  t.false(limit([0.7, 0.6, 0.38], 1, 2));
  t.true(limit([0.7, 0.6, 0.97], 1, 2));
  t.false(limit([0.99, 0.6, 0.38], 1, 1));
  t.false(limit([0.7, 0.6, 0.38], 1, 1, false));
});

test('p99 is set against that of a direct connection, where there is one', (t) => {
  const found = compare({
    epoll: { figures: { p99_us: 200 } },
    millrace: { figures: { p99_us: 300 } },
    wsplice: { error: 'violation' },
  });
  t.is(found.millrace.figures.p99_ratio, 1.5);
  t.is(found.epoll.figures.p99_ratio, undefined);
  t.is(compare({ millrace: { figures: { p99_us: 300 } } }).millrace.figures.p99_ratio, undefined);
});

test('it needs the generator, no packages, and only its own peers', (t) => {
  t.true(needsGenerator(['splice']));
  t.false(needsPackages(['splice']));
  t.true(needsPackages(['splice', 'echo']));
  const options = { peers: ['millrace', 'millrace-2', 'epoll', 'ws', 'wsplice'], threads: 1, ioThreads: 1 };
  const { peers, absent } = choosePeers(options, { epoll: 'the bare epoll loop' }, ['splice']);
  const names = [...peers, ...absent].map(({ name }) => name).sort();
  t.deepEqual(names, ['epoll', 'millrace', 'millrace-2', 'wsplice']);
  const taking = participants(scenario, peers, {}).taking.map(({ name }) => name);
  t.true(taking.includes('epoll') && taking.includes('millrace-2'));
});

test('its tables: round trips and one way, a direct connection first', (t) => {
  const figures = { per_second: 50_000, payload_mibit: 12.345, relayed_us: 5.678, p50_us: 100, p99_us: 300 };
  const shares = { server_share: 0.9, generator_share: 0.5, upstream_share: 0.25 };
  const rowsOf = (more) => ({
    'round-trip-128x1-64': { figures: { ...figures, ...shares, ...more } },
    'flow-128x1-64': { figures: { ...figures, ...shares, ...more } },
  });
  const outcome = {
    ...scenario,
    note: 'one window',
    without: [],
    peers: {
      epoll: { rows: rowsOf({ relayed_us: undefined, upstream_share: undefined }) },
      millrace: { rows: rowsOf({ p99_ratio: 1.5, generator_is_the_limit: true }) },
    },
  };
  const options = { pin: false, quick: true };
  const machine = { cpu: 'a processor', cores: 2, memoryGiB: 8, kernel: '6.1', descriptorLimit: 1 };
  const text = markdown({ machine, options, versions: {}, notes: [], absent: [] }, [outcome], {});
  t.true(text.includes('| 128 × 1 | 64 | direct | 50000 |  | 100 | 300 |  | 0.900 | 0.500 |  |'));
  t.true(text.includes('| 128 × 1 | 64 | millrace * | 50000 | 5.68 | 100 | 300 | 1.50 | 0.900 | 0.500 | 0.250 |'));
  t.true(text.includes('| 128 × 1 | 64 | millrace * | 50000 | 12.3 | 5.68 | 0.900 | 0.500 | 0.250 |'));
  t.false(text.includes('failure'));
  outcome.peers.millrace.rows['flow-128x1-64'].error = 'violation: a | b';
  outcome.peers.millrace.error = 'flow';
  const failed = markdown({ machine, options, versions: {}, notes: [], absent: [] }, [outcome], {});
  t.true(failed.includes('violation: a \\| b'));
});
