// The scenarios: the server's handler, the generator's arguments, the figures.
//   kind 'windows': peers take turns, window by window; 'once': one whole run per peer; 'rows': a table of
//   its own (threads.mjs, sockety.mjs, splice.mjs, qjs.mjs, histories.mjs).
//   load: the generator's scenario. connections: for each server; 'most': as many as this machine allows.
//   quick: what replaces `args` in a quick run. principal: only for the principal peers (peers.mjs).
//   only, without: peers that alone take part, or that do not, with the reason. also: peers that take part in
//   addition to the usual ones. tls: the servers speak TLS, and the generator verifies their certificate.
//   compression: the servers compress, and the generator offers permessage-deflate without context takeover.
//   columns: fields of the generator's report shown in the table. figures: those for the overview and
//   the plots (the first column if absent). cores: peers whose server gets two cores.
//   generator: whether rows need the generator; all other kinds do. packages: whether rows need the peers' packages.
//   half: an open loop at half the rate of the slowest of these peers in a closed loop (with the arguments `closed`).
import { join } from 'node:path';
import { filePath, publicFolder, user, userPath } from '../peers/http/content.mjs';
import { certificate } from './certificate.mjs';

const latency = [
  ['p50_us', 'p50 µs'],
  ['p99_us', 'p99 µs'],
  ['p999_us', 'p99.9 µs'],
];
const shares = [
  ['server_share', 'server busy'],
  ['generator_share', 'generator busy'],
  ['user_share', 'user part'],
  ['switches_per_unit', 'switches'],
  ['resident_mib', 'MiB'],
];
const perMessage = [['cpu_us', 'CPU µs/message'], ['per_second', 'messages/s'], ...latency, ...shares];
const perRequest = [['cpu_us', 'CPU µs/request'], ['per_second', 'requests/s'], ...latency, ...shares];
const perDelivery = [['cpu_us', 'CPU µs/delivery'], ['per_second', 'deliveries/s'], ...latency, ...shares];
const paced = [
  ['p99_us', 'p99 µs'],
  ['p50_us', 'p50 µs'],
  ['p999_us', 'p99.9 µs'],
  ['max_us', 'max µs'],
  ['per_second', 'messages/s'],
  ['unsent', 'not sent'],
  ['cpu_us', 'CPU µs/message'],
  ['server_share', 'server busy'],
  ['switches_per_unit', 'switches'],
];
const spliceColumns = [
  ['per_second', 'per second'],
  ['payload_mibit', 'payload Mibit/s'],
  ['relayed_us', 'CPU µs/relayed message'],
  ['p50_us', 'p50 µs'],
  ['p99_us', 'p99 µs'],
  ['p99_ratio', 'p99 / direct'],
  ['server_share', 'server busy'],
  ['generator_share', 'clients busy'],
  ['upstream_share', 'targets busy'],
];
const verdicts = [
  ['got_everything', 'got all'],
  ['closed_1013', '1013'],
  ['closed_otherwise', 'other close'],
  ['cut_without_close', 'cut'],
  ['holes', 'holes'],
];
const stalled = [
  ['growth_mib', 'growth MiB'],
  ['mib_peak_with', 'peak MiB'],
  ['others_p99_us_without', 'others p99 µs before'],
  ['others_p99_us', 'others p99 µs'],
  ['others_max_us', 'others max µs'],
  ...verdicts,
];
const twice = { 'ws-cluster': 'it does what `ws` does, in each process' };
/** Where most of a row's cost is the kernel's, the server without `io_uring` has a column of its own. */
const plain = { also: ['millrace-no-uring'] };
const noLimits = { epoll: 'it has no limits', fastwebsockets: 'it has no limits' };

/** A broadcast costs little more in a channel with history: the same server with one has a column, too. */
const remembering = { also: [...plain.also, 'millrace-history'] };

/** Requests for one path: 100 connections that stay open. The handler has the scenario's name. */
function http(name, title, path, body, more = {}) {
  const args = [`--path=${path}`, `--body=${body}`];
  return { name, title, kind: 'windows', handler: name, load: 'http', args, columns: perRequest, ...plain, ...more };
}

/** Echoes: 100 connections. */
function echo(name, title, args, more = {}) {
  return { name, title, kind: 'windows', handler: 'echo', load: 'echo', args, columns: perMessage, ...plain, ...more };
}

/** Echoes of long messages, with one outstanding and with 16: `echo-4k` and `echo-4k-16`. */
function longEchoes(kib) {
  const size = `--size=${kib * 1024}`;
  const more = kib === 16 ? {} : { principal: true };
  return [
    echo(`echo-${kib}k`, `echo ${kib} KiB, 100 connections × 1`, [size, '--pipeline=1'], { principal: true }),
    echo(`echo-${kib}k-16`, `echo ${kib} KiB, 100 connections × 16`, [size], more),
  ];
}

/** The headline: connections in groups of ten. */
function headline(name, title, connections, more = {}) {
  const quick = { connections: 200 };
  const load = { kind: 'windows', handler: 'headline', load: 'headline', connections, quick, args: [] };
  return { name, title, ...load, columns: perMessage, ...plain, ...more };
}

/** A fan-out. */
function fanout(name, title, connections, args, more = {}) {
  const quick = { connections: 200 };
  const load = { kind: 'windows', handler: 'fanout', load: 'fanout', connections, quick, args };
  return { name, title, ...load, columns: perDelivery, ...plain, ...more };
}

function fanoutAll(name, title, args) {
  return fanout(name, title, 'most', args, { principal: true, quick: { connections: 'most' }, also: [] });
}

/** A fan-out to subscribers that inflate. */
function deflated(name, title, args) {
  const only = ['millrace', 'millrace-no-uring', 'bun', 'uwebsockets', 'ws'];
  const more = { handler: 'fanout-deflate', compression: true, only };
  return fanout(name, title, 1000, ['--size=1024', ...args], more);
}

function once(name, title, handler, columns, args, more) {
  return { name, title, kind: 'once', handler, load: name, args, columns, ...more };
}

/** Memory of connections that do nothing. */
function idle(name, title, handler, more = {}) {
  const columns = [
    ['kib_per_connection', 'KiB/connection at rest'],
    ['kib_per_connection_after_a_message', 'KiB/connection after a message'],
    ['connections', 'connections'],
    ['start_mib', 'MiB at start'],
    ['base_mib', 'base MiB'],
    ['mib_after_closing', 'MiB after closing'],
    ['cpu_us_per_handshake', 'CPU µs/handshake'],
  ];
  return {
    ...once(name, title, handler, columns, ['--settle-ms=1000'], {
      connections: 'most',
      quick: { connections: 'most', args: ['--settle-ms=200'] },
      figures: [columns[0], columns[1], columns[6]],
      without: twice,
      ...plain,
    }),
    load: 'idle',
    ...more,
  };
}

/** On one core and on two: the same load for Millrace and `ws` with one thread and with two. */
function cores(scenario) {
  const only = ['millrace', 'millrace-2', 'bun', 'ws', 'ws-cluster'];
  const compare = { 'millrace-2': 'millrace', 'ws-cluster': 'ws' };
  const figures = [
    ['cpu_us', scenario.columns[0][1]],
    ['per_second', scenario.columns[1][1]],
  ];
  return { ...scenario, only, cores: Object.keys(compare), compare, figures };
}

export const scenarios = [
  headline('headline', '{connections} connections in groups of ten, broadcast and answer', 2000),
  headline('headline-6000', 'the same with {connections} connections', 6000, {
    principal: true,
    quick: { connections: 600 },
  }),
  headline('headline-most', 'the same with {connections} connections', 'most', {
    principal: true,
    quick: { connections: 'most' },
  }),
  echo('echo', 'echo 64 B, 100 connections × 16', []),
  echo('echo-1', 'echo 64 B, 100 connections × 1', ['--pipeline=1']),
  ...[1, 4, 16, 64].flatMap(longEchoes),
  echo('echo-tls', 'echo 64 B over TLS, 100 connections × 1', ['--pipeline=1'], {
    handler: 'echo-tls',
    tls: true,
    only: ['millrace', 'millrace-no-uring', 'bun', 'ws'],
  }),
  fanout('fanout', '64 B to {connections} subscribers, 16 in flight', 1000, [], remembering),
  fanout('fanout-1', '64 B to {connections} subscribers, 1 in flight', 1000, ['--pipeline=1'], { principal: true }),
  fanout('fanout-1k', '1 KiB to {connections} subscribers, 16 in flight', 1000, ['--size=1024'], remembering),
  fanout('fanout-1k-1', '1 KiB to {connections} subscribers, 1 in flight', 1000, ['--size=1024', '--pipeline=1'], {
    principal: true,
  }),
  deflated('fanout-1k-deflate', '1 KiB of JSON to {connections} subscribers, compressed, 16 in flight', []),
  deflated('fanout-1k-deflate-1', '1 KiB of JSON to {connections} subscribers, compressed, 1 in flight', [
    '--pipeline=1',
  ]),
  fanoutAll('fanout-all', '64 B to {connections} subscribers, 16 in flight', []),
  fanoutAll('fanout-all-1', '64 B to {connections} subscribers, 1 in flight', ['--pipeline=1']),
  fanoutAll('fanout-all-1k', '1 KiB to {connections} subscribers, 16 in flight', ['--size=1024']),
  fanoutAll('fanout-all-1k-1', '1 KiB to {connections} subscribers, 1 in flight', ['--size=1024', '--pipeline=1']),
  fanout('fanout-slow', '1 KiB to {connections} subscribers, 16 in flight, and 50 that read slowly', 1000, [], {
    also: [],
    load: 'fanout-slow',
    columns: [...perDelivery, ...verdicts],
    tolerates: ['bun', 'uwebsockets'],
  }),
  {
    name: 'channels',
    title: '100,000 channels of two, {connections} subscribers, 10 publishers × 16',
    kind: 'windows',
    handler: 'channels',
    load: 'channels',
    connections: 1000,
    args: [],
    columns: perMessage,
  },
  echo('latency-echo', 'echo 64 B, 100 connections, open loop at half load', [], {
    columns: paced,
    figures: latency,
    half: ['millrace', 'bun', 'deno', 'ws'],
    closed: ['--pipeline=1'],
  }),
  headline('latency-headline', '{connections} connections in groups of ten, open loop at half load', 2000, {
    columns: paced,
    figures: latency,
    half: ['millrace', 'bun', 'deno', 'ws'],
    closed: [],
  }),
  cores(echo('cores-echo', 'echo 64 B, 100 connections × 1, on one core and on two', ['--pipeline=1'])),
  cores(headline('cores-headline', '{connections} connections in groups of ten, on one core and on two', 2000)),
  cores(
    fanout('cores-fanout', '64 B to {connections} subscribers, 1 in flight, on one core and on two', 1000, [
      '--pipeline=1',
    ]),
  ),
  http('http-file', 'a file of 1 KiB over HTTP, 100 connections × 1', filePath, `@${join(publicFolder, filePath)}`),
  http('http-fetch', 'JSON of a fetch handler, 100 connections × 1', userPath, JSON.stringify(user('7'))),
  http('http-app', "JSON of an app's route, 100 connections × 1", userPath, JSON.stringify(user('7'))),
  idle('idle', '{connections} idle connections, resident memory at rest and after a message each', 'echo'),
  idle('idle-deflate', 'the same with connections that may compress, without context takeover', 'echo-deflate', {
    compression: true,
    only: ['millrace', 'bun', 'uwebsockets', 'ws'],
    also: [],
  }),
  once(
    'churn',
    'connect, handshake, close with 1000, over and over',
    'echo',
    [
      ['cpu_us_per_cycle', 'CPU µs/cycle'],
      ['cycles_per_second', 'cycles/s'],
      ['p50_us', 'open p50 µs'],
      ['p99_us', 'open p99 µs'],
      ['mib_before', 'MiB before'],
      ['mib_after', 'MiB after'],
      ['growth_percent', 'growth %'],
      ['descriptors_before', 'descriptors before'],
      ['descriptors_after', 'after'],
    ],
    ['--count=100000'],
    { quick: { args: ['--count=5000', '--settle-ms=200'] }, without: twice, ...plain },
  ),
  once('stalled-subscribers', '20 subscribers that never read, 64 MiB to each', 'fanout', stalled, [], {
    quick: { args: ['--count=4096'] },
    without: { ...twice, ...noLimits },
    tolerates: ['bun', 'uwebsockets', 'deno', 'ws', 'socketio', 'warpsocket'],
  }),
  once(
    'stalled-senders',
    '50 clients that send echoes, 16 MiB each, and never read',
    'fanout',
    stalled,
    ['--window-ms=4000'],
    {
      quick: { args: ['--window-ms=1000', '--count=1024'] },
      without: { ...twice, ...noLimits },
      tolerates: ['bun', 'uwebsockets', 'deno', 'ws', 'socketio', 'warpsocket'],
    },
  ),
  {
    name: 'threads',
    title: 'instructions, cache misses and context switches per message with 1, 2 and 4 threads',
    kind: 'rows',
    generator: true,
    handler: 'echo',
    only: ['millrace'],
    without: { before: 'the scenario starts its own servers' },
    columns: [
      ['instructions', 'instructions'],
      ['d1_misses', 'first-level data misses'],
      ['l2_misses', 'second-level misses'],
      ['switches', 'context switches'],
      ['cpu_us', 'CPU µs/message'],
      ['p99_us', 'p99 µs'],
    ],
  },
  {
    name: 'sockety',
    title: 'Sockety: tasks of two client threads with two connections each',
    kind: 'rows',
    handler: 'sockety',
    only: ['millrace', 'millrace-2', 'sockety', 'node-http', 'node-http2'],
    columns: [
      ['per_second', 'QPS'],
      ['client_cpu_us', 'client CPU µs/task'],
      ['server_cpu_us', 'server CPU µs/task'],
    ],
  },
  {
    name: 'splice',
    title: 'messages through a multiplexer to targets and back',
    kind: 'rows',
    generator: true,
    handler: 'splice',
    only: ['epoll', 'millrace', 'millrace-2', 'wsplice'],
    columns: spliceColumns,
  },
  {
    name: 'qjs',
    title: 'users as JSON over HTTP that stays open: requests per second per MiB',
    kind: 'rows',
    generator: true,
    packages: true,
    handler: 'qjs',
    only: ['millrace', 'millrace-2', 'node-http', 'express'],
    columns: [
      ['per_second', 'requests/s'],
      ['resident_mib', 'MiB'],
      ['per_second_per_mib', 'requests/s per MiB'],
      ['cpu_us', 'CPU µs/request'],
      ['p50_us', 'p50 µs'],
      ['p99_us', 'p99 µs'],
    ],
  },
  {
    name: 'histories',
    title: 'two nodes on one Redis: channels whose history they share, and channels without terms',
    kind: 'rows',
    handler: 'histories',
    only: ['millrace'],
    without: { before: 'the scenario starts its own servers' },
    columns: [
      ['per_second', 'publications/s'],
      ['deliveries_per_second', 'deliveries/s'],
      ['delivery_us', 'CPU µs/delivery'],
      ['publication_us', 'CPU µs/publication'],
      ['redis_us', 'CPU µs of Redis/publication'],
      ['p50_us', 'p50 µs'],
      ['p99_us', 'p99 µs'],
    ],
  },
];

/** Whether a requested scenario or peer needs the generator or a server in Rust, which must be built. */
export function needsGenerator(names) {
  return names.some((name) => needs(name, 'generator'));
}

/** Whether a requested scenario needs peers that must be installed. */
export function needsPackages(names) {
  return names.some((name) => needs(name, 'packages'));
}

function needs(name, what) {
  const scenario = scenarios.find((each) => each.name === name);
  return scenario?.kind !== 'rows' || scenario[what] === true;
}

/** The generator's arguments: scenario, connections and others. */
export function loadArgs(scenario, connections, options) {
  const args = (options.quick && scenario.quick?.args) || scenario.args;
  const counted = connections === undefined ? [] : [`--connections=${connections}`];
  const compressed = scenario.compression ? ['--compression'] : [];
  const secured = scenario.tls ? [`--tls-ca=${join(certificate(), 'cert.pem')}`] : [];
  return [scenario.load, ...counted, ...args, ...compressed, ...secured];
}

/** Connections to each server; undefined if the generator's default applies. */
export function connectionsOf(scenario, most, options) {
  const { connections } = options.quick && scenario.quick?.connections ? scenario.quick : scenario;
  const count = connections === 'most' ? most : connections;
  return scenario.load === 'headline' ? count - (count % 10) : count;
}
