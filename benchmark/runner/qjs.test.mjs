// The scenario `qjs`: its rows, the measured programs, its figure and its table.
import test from 'ava';
import { answers } from '../peers/qjs/users.mjs';
import { handlersOf } from './peers.mjs';
import { figuresOf, loadArgs, programs, rows } from './qjs-rows.mjs';
import { needsGenerator, needsPackages, scenarios } from './scenarios.mjs';
import { markdown } from './tables.mjs';

const scenario = scenarios.find(({ name }) => name === 'qjs');

test('both endpoints with 1, 10, 50, 100 and 200 connections', (t) => {
  t.deepEqual(Object.keys(answers), ['/api/users', '/api/users/1']);
  for (const path of Object.keys(answers)) {
    const counts = rows.filter((row) => row.path === path).map(({ connections }) => connections);
    t.deepEqual(counts, [1, 10, 50, 100, 200]);
  }
  const body = JSON.stringify(answers['/api/users/1']);
  t.deepEqual(loadArgs(rows.at(-1)), ['http', '--connections=200', '--path=/api/users/1', `--body=${body}`]);
});

test('of Millrace the app and a fetch handler, of the others one program each', (t) => {
  const peers = scenario.only.map((name) => ({ name, handlers: handlersOf(name) }));
  const found = programs(peers);
  t.deepEqual(
    found.map(({ name }) => name),
    ['millrace', 'millrace (fetch)', 'millrace-2', 'node-http', 'express'],
  );
  for (const { peer, handler } of found) t.true(peer.handlers.includes(handler), `${peer.name} ${handler}`);
});

test('it needs the generator and packages', (t) => {
  t.true(needsGenerator(['qjs']));
  t.true(needsPackages(['qjs']));
});

test('requests per second per MiB, in the figures and in the table', (t) => {
  const figures = figuresOf({ per_second: 9000, resident_mib: 60, cpu_us: 50, p50_us: 1, p99_us: 2 });
  t.is(figures.per_second_per_mib, 150);
  const outcome = {
    ...scenario,
    without: [],
    peers: {
      millrace: { rows: { '/api/users 10': { figures } } },
      'node-http': {
        rows: { '/api/users 10': { figures: { ...figures, generator_is_the_limit: true } } },
      },
    },
  };
  const options = { pin: false, quick: true };
  const machine = { cpu: 'a processor', cores: 2, memoryGiB: 8, kernel: '6.1', descriptorLimit: 1 };
  const text = markdown({ machine, options, versions: {}, notes: [], absent: [] }, [outcome], {});
  t.true(text.includes('| `/api/users` | 10 | millrace | 9000 | 60 | 150 | 50 | 1 | 2 |'));
  t.true(text.includes('| `/api/users` | 10 | node-http * | 9000 |'));
});
