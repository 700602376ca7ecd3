// The command line of the benchmark.
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { peerNames } from './peers.mjs';
import { scenarios } from './scenarios.mjs';
import { studyExists } from './study.mjs';

const definition = {
  scenario: { type: 'string', multiple: true },
  peer: { type: 'string', multiple: true },
  quick: { type: 'boolean', default: false },
  windows: { type: 'string' },
  'window-ms': { type: 'string' },
  'max-connections': { type: 'string', default: '90000' },
  'server-core': { type: 'string', default: '0' },
  'load-core': { type: 'string', default: '1' },
  'second-core': { type: 'string' },
  'no-pin': { type: 'boolean', default: false },
  threads: { type: 'string', default: '1' },
  'io-threads': { type: 'string', default: '1' },
  processes: { type: 'string', default: '2' },
  'time-limit-s': { type: 'string', default: '4500' },
  before: { type: 'string' },
  out: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
};

const scenarioNames = [...scenarios.map(({ name }) => name), ...(studyExists ? ['study'] : [])];

/** What `--help` prints. */
export function usage() {
  return `npm run bench -- [options]

  --scenario X         only these (repeat, or separate with commas):
${wrapped(scenarioNames)}
  --peer Y             only these, wherever they can run:
${wrapped(peerNames)}
  --quick              short windows, few connections: a check, not a measurement
  --windows N          measured windows per scenario and peer (5; quick: 1)
  --window-ms N        their length (1000; quick: 250)
  --max-connections N  the most that a scenario opens (90000, or what descriptors and memory allow)
  --server-core N      the core of the server (0)
  --load-core N        the core of the load generator (1)
  --second-core N      the server's other core where it has two (a third one, else the generator's)
  --no-pin             leave both where the system puts them
  --threads N          worker threads of millrace (1)
  --io-threads N       I/O threads of millrace (1)
  --processes N        processes of ws-cluster (2)
  --time-limit-s N     begin no further scenario after this (4500)
  --before DIR         measure another checkout too, built and with the packages of its benchmark, as the peer
                       "before": for a pair of two commits
  --out DIR            where results go (benchmark/results/<date>-<commit>);
                       those in benchmark/results/latest are meant to be committed`;
}

/** Names, wrapped into short lines. */
function wrapped(names) {
  const lines = [''];
  for (const name of names) {
    if (lines.at(-1).length + name.length > 80) lines.push('');
    lines.push(`${lines.pop()} ${name}`);
  }
  return lines.map((line) => `                      ${line}`).join('\n');
}

/** The options of a command line; throws with a message for the user. */
export function parse(args) {
  const { values } = parseArgs({ args, options: definition });
  const { quick } = values;
  const cores = availableParallelism();
  const serverCore = whole('server-core', values['server-core']);
  const loadCore = whole('load-core', values['load-core']);
  const third = [0, 1, 2].find((core) => core !== serverCore && core !== loadCore);
  return {
    help: values.help,
    quick,
    scenarios: names('scenario', values.scenario, scenarioNames),
    peers: peersOf(values),
    peersChosen: values.peer !== undefined,
    windows: whole('windows', values.windows ?? (quick ? '1' : '5')),
    windowMs: whole('window-ms', values['window-ms'] ?? (quick ? '250' : '1000')),
    warmUpMs: quick ? 100 : 500,
    maxConnections: whole('max-connections', values['max-connections']),
    // one core cannot be divided
    pin: !values['no-pin'] && cores > 1,
    serverCore,
    loadCore,
    secondCore: whole('second-core', values['second-core'] ?? String(cores > 2 ? third : loadCore)),
    threads: whole('threads', values.threads),
    ioThreads: whole('io-threads', values['io-threads']),
    processes: whole('processes', values.processes),
    timeLimit: whole('time-limit-s', values['time-limit-s']),
    before: values.before,
    out: values.out,
  };
}

/** The peers that are wanted: `before` only if it is asked for. */
function peersOf({ peer, before }) {
  const wanted = names('peer', peer, peerNames);
  if (before !== undefined) return [...new Set([...wanted, 'before'])];
  return peer === undefined ? wanted.filter((name) => name !== 'before') : wanted;
}

function names(option, given, known) {
  if (!given) return known;
  const wanted = given.flatMap((list) => list.split(','));
  const unknown = wanted.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`--${option} ${unknown} is unknown; there are: ${known.join(' ')}`);
  return wanted;
}

function whole(option, text) {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`--${option} must be a whole number, not ${text}`);
  return value;
}
