// The scenarios: which handler the server runs, what the generator is told, which figure counts.
//   kind 'windows': peers take turns, window by window; 'once': one whole run per peer.
//   columns: fields of the generator's report shown in the table, the first one is the figure.

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
];
const perMessage = [['cpu_us', 'CPU µs/message'], ['per_second', 'messages/s'], ...latency, ...shares];
const perDelivery = [['cpu_us', 'CPU µs/delivery'], ['per_second', 'deliveries/s'], ...latency, ...shares];
const stalled = [
  ['growth_mib', 'growth MiB'],
  ['mib_peak_with', 'peak MiB'],
  ['others_p99_us_without', 'others p99 µs before'],
  ['others_p99_us', 'others p99 µs'],
  ['others_max_us', 'others max µs'],
  ['got_everything', 'got all'],
  ['closed_1013', '1013'],
  ['closed_otherwise', 'other close'],
  ['cut_without_close', 'cut'],
  ['holes', 'holes'],
];

function windows(name, title, handler, columns, args, quick = args) {
  return { name, title, handler, kind: 'windows', columns, args, quick };
}

function once(name, title, handler, columns, args, quick, more = {}) {
  return { name, title, handler, kind: 'once', columns, args, quick, ...more };
}

export const scenarios = [
  windows(
    'headline',
    '2,000 connections in groups of ten, broadcast and answer',
    'headline',
    perMessage,
    ['headline'],
    ['headline', '--connections=200'],
  ),
  windows(
    'headline-6000',
    'the same with 6,000 connections',
    'headline',
    perMessage,
    ['headline', '--connections=6000'],
    ['headline', '--connections=600'],
  ),
  windows('echo', 'echo 64 B, 100 connections × 16', 'echo', perMessage, ['echo']),
  windows('echo-1', 'echo 64 B, 100 connections × 1', 'echo', perMessage, ['echo', '--pipeline=1']),
  windows('echo-16k', 'echo 16 KiB, 100 connections × 16', 'echo', perMessage, ['echo', '--size=16384']),
  windows(
    'fanout',
    '64 B to 1,000 subscribers, 16 in flight',
    'fanout',
    perDelivery,
    ['fanout'],
    ['fanout', '--connections=200'],
  ),
  windows(
    'fanout-1',
    '64 B to 1,000 subscribers, 1 in flight',
    'fanout',
    perDelivery,
    ['fanout', '--pipeline=1'],
    ['fanout', '--connections=200', '--pipeline=1'],
  ),
  windows(
    'fanout-1k',
    '1 KiB to 1,000 subscribers, 16 in flight',
    'fanout',
    perDelivery,
    ['fanout', '--size=1024'],
    ['fanout', '--connections=200', '--size=1024'],
  ),
  once(
    'idle',
    'idle connections, resident memory',
    'echo',
    [
      ['kib_per_connection', 'KiB/connection'],
      ['kib_per_connection_after_a_message', 'after a message'],
      ['connections', 'connections'],
      ['start_mib', 'MiB at start'],
      ['base_mib', 'base MiB'],
      ['mib_after_closing', 'MiB after closing'],
      ['cpu_us_per_handshake', 'CPU µs/handshake'],
    ],
    ['idle', '--connections=19000'],
    ['idle', '--connections=2000'],
  ),
  once(
    'churn',
    '100,000 connects and closes',
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
    ['churn', '--count=100000'],
    ['churn', '--count=5000'],
  ),
  once(
    'stalled-subscribers',
    '20 subscribers that never read, 64 MiB to each',
    'fanout',
    stalled,
    ['stalled-subscribers'],
    ['stalled-subscribers', '--count=4096'],
    { without: ['floor'], tolerates: ['ws', 'bun'] },
  ),
  once(
    'stalled-senders',
    '50 clients that send echoes, 16 MiB each, and never read',
    'fanout',
    stalled,
    ['stalled-senders'],
    ['stalled-senders', '--window-ms=2000', '--count=2048'],
    { without: ['floor'], tolerates: ['ws', 'bun'] },
  ),
];
