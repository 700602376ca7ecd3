// The verdict: which goals a run met, and by how much it missed the others.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { scenarios } from './scenarios.mjs';
import { markdown } from './tables.mjs';
import { eventsIn, fewest, perMessage } from './threads.mjs';
import { judge, outcomeOfStudy, readGoals, readOutcomes, summary, verdictLines } from './verdict.mjs';

const goals = {
  without_io_uring: 1.1,
  may_be_missed: { figures: 3, percent: 10 },
  goals: [
    { scenario: 'echo', at_most: 0.9, before: 1.08 },
    { scenario: 'idle', figure: 'kib_per_connection', against: null, at_most: 0.5, firm: true },
    { scenario: 'threads', figure: 'echo_instructions', peer: '2 threads', against: '1 thread', at_most: 1.1 },
  ],
};
const cpu = (figure) => ({ figures: { cpu_us: figure } });
const echo = (peers) => ({ name: 'echo', title: 'an echo', peers });

test('a ratio at its limit is met, one above it is missed by so many percent', (t) => {
  const [met] = judge(goals, [echo({ millrace: cpu(0.9), bun: cpu(1) })]);
  t.is(met.state, 'met');
  const [missed] = judge(goals, [echo({ millrace: cpu(1.08), bun: cpu(1) })]);
  t.is(missed.state, 'missed');
  t.is(missed.percent.toFixed(3), '20.000');
});

test('without io_uring the limit is higher, in a line of its own', (t) => {
  const peers = { millrace: cpu(0.8), 'millrace-no-uring': cpu(0.98), bun: cpu(1) };
  const [ring, plain] = judge(goals, [echo(peers)]);
  t.deepEqual([ring.peer, ring.limit, ring.state], ['millrace', 0.9, 'met']);
  t.deepEqual([plain.peer, plain.limit.toFixed(2), plain.state], ['millrace-no-uring', '0.99', 'met']);
});

test('memory is compared with a number, with io_uring and without', (t) => {
  const idle = (kib) => ({ figures: { kib_per_connection: kib } });
  const outcome = { name: 'idle', title: 'idle', peers: { millrace: idle(0.5), 'millrace-no-uring': idle(0.55) } };
  const lines = judge(goals, [outcome]).filter(({ scenario }) => scenario === 'idle');
  t.deepEqual(
    lines.map(({ limit, state }) => [limit, state]),
    [
      [0.5, 'met'],
      [0.5, 'missed'],
    ],
  );
});

test('what failed or was not measured is not met', (t) => {
  const states = (outcomes) => judge(goals, outcomes).map(({ state }) => state);
  t.deepEqual(states([]), ['not measured', 'not measured', 'not measured']);
  t.is(states([echo({ millrace: { ...cpu(0.1), error: 'violation' }, bun: cpu(1) })])[0], 'failed');
  t.is(states([echo({ millrace: cpu(0.1), bun: { error: 'it did not start' } })])[0], 'failed');
  t.is(states([echo({ millrace: cpu(0.1) })])[0], 'not measured');
});

test('a figure of one scenario is compared with that of another', (t) => {
  const goal = { scenario: 'fanout-1k-deflate', against_scenario: 'fanout-1k', against: 'millrace', at_most: 1.2 };
  const deflate = (peers) => ({ name: 'fanout-1k-deflate', title: 'compressed', peers });
  const outcomes = [
    deflate({ millrace: cpu(1.1), 'millrace-no-uring': cpu(2.6) }),
    { name: 'fanout-1k', title: 'plain', peers: { millrace: cpu(1), 'millrace-no-uring': cpu(2) } },
  ];
  const lines = judge({ ...goals, goals: [goal] }, outcomes);
  t.deepEqual(
    lines.map(({ peer, against, limit, measured, state }) => [peer, against, limit, measured, state]),
    [
      ['millrace', 'millrace in fanout-1k', 1.2, 1.1, 'met'],
      ['millrace-no-uring', 'millrace-no-uring in fanout-1k', 1.2, 1.3, 'missed'],
    ],
  );
  t.is(judge({ ...goals, goals: [goal] }, outcomes.slice(0, 1))[0].state, 'not measured');
});

/** A peer with these figures in its windows; the first is the median. */
const windows = (...figures) => ({ ...cpu(figures[0]), windows: figures.map((cpu_us) => ({ cpu_us })) });

test('a row is worse than before if it is above by more than half of what its windows differ by', (t) => {
  const worse = (peers, before = 0.9) => {
    const goal = { scenario: 'echo', at_most: 2, before };
    return judge({ ...goals, goals: [goal] }, [echo(peers)])[0].worse;
  };
  t.is(worse({ millrace: cpu(0.9), bun: cpu(1) }), undefined);
  t.is(worse({ millrace: cpu(0.99), bun: cpu(1) }).toFixed(3), '10.000');
  t.is(worse({ millrace: windows(0.99, 0.9, 1.1), bun: windows(1, 1, 1) }), undefined);
  t.is(worse({ millrace: windows(0.99, 0.98, 1), bun: windows(1, 1, 1) }).toFixed(3), '10.000');
  // in turns: what slows both down in a window is no difference
  t.is(worse({ millrace: windows(0.99, 1.98, 9.9), bun: windows(1, 2, 10) }).toFixed(3), '10.000');
  // the commit before took turns with this one
  const beside = (old) => worse({ millrace: windows(1, 1.02, 1), bun: windows(1, 1, 1), before: old });
  t.is(beside(windows(1, 1, 1)), undefined);
  t.is(beside(windows(0.8, 0.8, 0.8)).toFixed(3), '25.000');
  t.is(beside({ ...windows(0.8, 0.8, 0.8), error: 'it ended' }).toFixed(1), '11.1');
});

test('the verdict says which rows are worse than before', (t) => {
  const lines = (figure) => verdictLines(goals, [echo({ millrace: cpu(figure), bun: cpu(1) })]).join('\n');
  t.regex(lines(0.85), /No row may be worse than before\. Of 1 that can be compared, none is\./);
  const text = lines(1.296);
  t.regex(text, /\| missed by 44 %, worse by 20 % \|/);
  t.regex(text, /Of 1 that can be compared, 1 is: an echo: CPU µs\/message \(20 %\)\./);
});

test('with the commit before in the run, rows without a goal are compared, too', (t) => {
  const row = (millrace, before) => ({ name: 'channels', title: 'channels', peers: { millrace, before } });
  const said = (...outcomes) =>
    verdictLines(goals, [echo({ millrace: cpu(0.5), bun: cpu(1) }), ...outcomes]).join('\n');
  t.regex(said(row(cpu(1), cpu(1))), /Of 2 that can be compared, none is\./);
  t.regex(said(row(cpu(1.2), cpu(1))), /Of 2 that can be compared, 1 is: channels: CPU µs\/message \(20 %\)\./);
  t.regex(said(row(cpu(1.2), { ...cpu(1), error: 'it ended' })), /Of 1 that can be compared, none is\./);
  const cores = { name: 'cores-echo', title: 'cores' };
  const figures = (cpu_us, per_second) => ({ figures: { cpu_us, per_second } });
  t.regex(said({ ...cores, peers: { millrace: figures(1, 9), before: figures(1, 1) } }), /Of 2 .* none is\./);
});

test('two threads are compared with one', (t) => {
  const figures = (count) => ({ figures: { echo_instructions: count } });
  const outcome = { name: 'threads', title: 'threads', peers: { '1 thread': figures(100), '2 threads': figures(121) } };
  const [line] = judge(goals, [outcome]).filter(({ scenario }) => scenario === 'threads');
  t.is(line.percent.toFixed(1), '10.0');
});

test('the table has what was measured, and the sentence says what is too far off', (t) => {
  const outcomes = [
    echo({ millrace: cpu(0.945), bun: cpu(1) }),
    { name: 'idle', title: 'idle', peers: { millrace: { figures: { kib_per_connection: 0.51 } } } },
  ];
  const text = verdictLines(goals, outcomes).join('\n');
  t.regex(text, /\| an echo: CPU µs\/message \| millrace \/ bun \| 1\.08 \| 0\.900 \| 0\.945 \| missed by 5\.0 % \|/);
  t.regex(text, /\| idle: KiB\/connection at rest \| millrace \| {2}\| 0\.500 \| 0\.510 \| missed by 2\.0 % \|/);
  t.true(text.includes('Not measured: threads.'));
  // a firm goal may not be missed at all
  t.true(
    summary(goals, judge(goals, outcomes)).startsWith('0 of 3 goals met, 2 missed, 1 of these by more than allowed'),
  );
  t.deepEqual(verdictLines(goals, []), []);
});

test('every goal is of a scenario and a figure that exist, with and without io_uring', (t) => {
  for (const { scenario, figure, at_most, before, against_scenario = scenario } of readGoals().goals) {
    const known = scenarios.find(({ name }) => name === scenario);
    t.true(scenarios.some(({ name }) => name === against_scenario) || scenario === 'study', against_scenario);
    t.true(known !== undefined || scenario === 'study', scenario);
    if (figure && known.kind !== 'rows') t.true(known.columns.some(([name]) => name === figure));
    t.true(at_most > 0 && (before === undefined || before > 0));
  }
});

test('older results are read under the names of today', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-verdict-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const old = [
    { name: 'echo-16k', title: 'echo 16 KiB, 100 connections × 16', peers: { floor: cpu(1), millrace: cpu(2) } },
    { name: 'echo-16k', title: 'echo 16 KiB, 100 connections × 1', peers: { epoll: cpu(3) } },
  ];
  const study = { sections: { 'one-core': [{ name: 'millrace-1', median: { cpu_us: 7 } }] } };
  writeFileSync(join(folder, 'results.json'), JSON.stringify({ scenarios: old, study }));
  const outcomes = readOutcomes(folder);
  t.deepEqual(
    outcomes.map(({ name, peers }) => [name, Object.keys(peers)]),
    [
      ['echo-16k-16', ['epoll', 'millrace']],
      ['echo-16k', ['epoll']],
      ['study', ['millrace']],
    ],
  );
  t.is(outcomes[2].peers.millrace.figures.cpu_us, 7);
  t.deepEqual(outcomeOfStudy(undefined), []);
});

test('a profile of callgrind is summed up per message', (t) => {
  const profile =
    'version: 1\nevents: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw\n\nfn=(1) a\n1 2\n\ntotals: 200 9 9 9 4 6 1 2 3\n';
  const events = eventsIn(profile);
  t.deepEqual(perMessage(events, 2), { instructions: 100, d1_misses: 5, l2_misses: 3 });
  t.throws(() => eventsIn('version: 1\n'), { message: /no sums/ });
});

test('of the windows of callgrind the one counts in which least was compiled', (t) => {
  const windows = [13333, 3851, 4100].map((instructions) => ({ instructions, d1_misses: instructions / 100 }));
  t.deepEqual(fewest(windows), { instructions: 3851, d1_misses: 38.51 });
});

test('threads: a line for each load and number of threads, with the ratio to one', (t) => {
  const figures = (factor) => ({ echo_instructions: 1000 * factor, echo_switches: 0.5, headline_instructions: 3000 });
  const peers = {
    '1 thread': { figures: figures(1) },
    '2 threads': { figures: figures(1.25), error: 'headline: a | b' },
  };
  const scenario = scenarios.find(({ name }) => name === 'threads');
  const machine = { cpu: 'a processor', cores: 2, memoryGiB: 8, kernel: '6.1', descriptorLimit: 1 };
  const about = { machine, options: { pin: false }, versions: {}, notes: [], absent: [] };
  const text = markdown(about, [{ ...scenario, without: [], peers }], {}, ['a verdict']);
  t.regex(
    text,
    /\| echo 64 B[^|]*\| 2 threads \| 1250 \| {2}\| {2}\| 0\.500 \| {2}\| {2}\| 1\.25 \| headline: a \\\| b \|/,
  );
  t.true(text.includes('## Goals\n\na verdict'));
});

test('whether io_uring was used is told for the servers of Millrace', (t) => {
  const machine = { cpu: 'a processor', cores: 2, memoryGiB: 8, kernel: '6.1', descriptorLimit: 1 };
  const about = { machine, options: { pin: false }, versions: {}, notes: [], absent: [] };
  const columns = [['cpu_us', 'CPU µs/message']];
  const one = (name, ring) => ({
    ...{ name, title: name, columns, without: [] },
    peers: { millrace: { ...cpu(1), ioUring: ring }, 'millrace-no-uring': { ...cpu(1), ioUring: false }, bun: cpu(1) },
  });
  const text = markdown(about, [one('echo', true), one('idle', false)], {});
  t.true(text.includes('- `millrace` used io_uring except in idle.'));
  t.true(text.includes('- `millrace-no-uring` did not use io_uring.'));
  t.false(text.includes('`bun` '));
});
