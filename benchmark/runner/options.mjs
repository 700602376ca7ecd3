// The command line of the benchmark.
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { peerNames } from './peers.mjs';
import { scenarios } from './scenarios.mjs';

const definition = {
  scenario: { type: 'string', multiple: true },
  peer: { type: 'string', multiple: true },
  quick: { type: 'boolean', default: false },
  windows: { type: 'string' },
  'window-ms': { type: 'string' },
  'server-core': { type: 'string', default: '0' },
  'load-core': { type: 'string', default: '1' },
  'no-pin': { type: 'boolean', default: false },
  threads: { type: 'string', default: '1' },
  'io-threads': { type: 'string', default: '1' },
  'time-limit-s': { type: 'string', default: '3600' },
  out: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
};

/** What `--help` prints. */
export function usage() {
  return `npm run bench -- [options]

  --scenario X      only these (repeat, or separate with commas):
                    ${scenarios.map(({ name }) => name).join(' ')}
  --peer Y          only these: ${peerNames.join(' ')}
  --quick           short windows, few connections: a check, not a measurement
  --windows N       measured windows per scenario and peer (5; quick: 3)
  --window-ms N     their length (2000; quick: 500)
  --server-core N   the core of the server (0)
  --load-core N     the core of the load generator (1)
  --no-pin          leave both where the system puts them
  --threads N       worker threads of Millrace (1)
  --io-threads N    I/O threads of Millrace (1)
  --time-limit-s N  begin no further scenario after this (3600)
  --out DIR         where results go (benchmark/results/<date>-<commit>)`;
}

/** The options of a command line; throws with a message for the user. */
export function parse(args) {
  const { values } = parseArgs({ args, options: definition });
  const known = scenarios.map(({ name }) => name);
  return {
    help: values.help,
    quick: values.quick,
    scenarios: names('scenario', values.scenario, known),
    peers: names('peer', values.peer, peerNames),
    windows: whole('windows', values.windows ?? (values.quick ? '3' : '5')),
    windowMs: whole('window-ms', values['window-ms'] ?? (values.quick ? '500' : '2000')),
    // one core cannot be divided
    pin: !values['no-pin'] && availableParallelism() > 1,
    serverCore: whole('server-core', values['server-core']),
    loadCore: whole('load-core', values['load-core']),
    threads: whole('threads', values.threads),
    ioThreads: whole('io-threads', values['io-threads']),
    timeLimit: whole('time-limit-s', values['time-limit-s']),
    out: values.out,
  };
}

function names(option, given, known) {
  if (!given) return known;
  const wanted = given.flatMap((list) => list.split(','));
  const stranger = wanted.find((name) => !known.includes(name));
  if (stranger !== undefined) throw new Error(`--${option} ${stranger} is unknown; there are: ${known.join(' ')}`);
  return wanted;
}

function whole(option, text) {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`--${option} must be a whole number, not ${text}`);
  return value;
}
