// The JavaScript surface: argument errors that change nothing, one state for ESM and CommonJS, errors, types.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import test from 'ava';

import { WRONG } from '../support/api-table.mjs';
import { SOON, until } from '../support/deadline.mjs';
import * as millrace from '../support/millrace.mjs';
import { ask, member, ownServer, sharedServer, worker } from '../support/server.mjs';

const require = createRequire(import.meta.url);
const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.join(here, '..', '..');
const server = sharedServer(test, { workerPath: worker('commands'), threads: 1 });

const FUNCTIONS = [
  'start',
  'send',
  'publish',
  'history',
  'presence',
  'presenceCount',
  'setPresence',
  'subscribe',
  'unsubscribe',
  'copySubscriptions',
  'hasSubscriptions',
  'createVirtualSocket',
  'deleteVirtualSocket',
  'outboxBytes',
  'drained',
  'sendStream',
  'setToken',
  'getKey',
  'setKey',
  'setKeyIf',
  'getDebugState',
  'close',
  'terminate',
  'ping',
  'attach',
  'createGateway',
  'stats',
];

for (const name of FUNCTIONS) {
  test(`${name} is exported, as ES module and as CommonJS, one and the same`, (t) => {
    t.is(typeof millrace[name], 'function');
    t.is(require('../support/millrace.cjs')[name], millrace[name]);
  });
}

test('MillraceError is one class for ESM and CommonJS', (t) => {
  t.is(typeof millrace.MillraceError, 'function');
  t.is(require('../support/millrace.cjs').MillraceError, millrace.MillraceError);
  t.true(new millrace.MillraceError('ERR_MILLRACE_TEST', 'x') instanceof Error);
});

test('ESM and CommonJS share one state', (t) => {
  const classic = require('../support/millrace.cjs');
  classic.setKey('from cjs', 'value');
  t.is(Buffer.from(millrace.getKey('from cjs')).toString(), 'value');
  millrace.setKey('from cjs', undefined);
  t.is(classic.getKey('from cjs'), undefined);
});

test('a gateway has the same functions', (t) => {
  const gateway = millrace.createGateway();
  for (const name of FUNCTIONS) if (name !== 'createGateway') t.is(typeof gateway[name], 'function', name);
  t.is(gateway.send('nobody', 'x'), 0);
});

const label = (value) => {
  if (typeof value === 'symbol') return 'a symbol';
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return `[${value.map(label)}]`;
  return value !== null && typeof value === 'object'
    ? JSON.stringify(value, (_key, item) => (typeof item === 'bigint' ? `${item}n` : item)) +
        (value instanceof SharedArrayBuffer ? ' shared' : '')
    : (JSON.stringify(value) ?? String(value));
};

for (const [index, [name, args, argument]] of WRONG.entries()) {
  test(`${name}(${args.map(label).join(', ')}) is a TypeError that names ${argument} (${index})`, (t) => {
    const before = JSON.stringify(millrace.getDebugState('channels'));
    const error = t.throws(() => millrace[name](...args), { instanceOf: TypeError });
    t.regex(error.message, new RegExp(`\\b${argument}\\b`));
    t.is(JSON.stringify(millrace.getDebugState('channels')), before);
  });
}

/** These reject, or may be called without arguments. */
const OTHERS = ['start', 'attach', 'createGateway', 'stats', 'drained', 'sendStream', 'publish', 'history'];
OTHERS.push('presence', 'presenceCount', 'setPresence');

for (const name of FUNCTIONS) {
  if (OTHERS.includes(name)) continue;
  test(`${name}() without arguments is a TypeError`, (t) => {
    t.throws(() => millrace[name](), { instanceOf: TypeError });
  });
}

for (const [args, named] of [
  [[], /argument 'socketId'/],
  [['1'], /argument 'socketId'/],
  [[1.5], /argument 'socketId'/],
  [[1, null], /options must be an object/],
  [[1, { timeoutMs: -1 }], /options\.timeoutMs/],
  [[1, { timeoutMs: '5' }], /options\.timeoutMs/],
  [[1, { signal: {} }], /options\.signal/],
  [[1, { timeout: 5 }], /unknown option options\.timeout/],
]) {
  test(`drained(${args.map(label)}) is rejected with a TypeError`, async (t) => {
    await t.throwsAsync(millrace.drained(...args), { instanceOf: TypeError, message: named });
  });
}

for (const [args, named] of [
  [[], /argument 'readable'/],
  [['1', []], /argument 'socketId'/],
  [[1], /argument 'readable'/],
  [[1, 'text'], /argument 'readable'/],
  [[1, new Uint8Array(1)], /argument 'readable'/],
  [[1, {}], /argument 'readable'/],
  [[1, [], null], /options must be an object/],
  [[1, [], { binary: 1 }], /options\.binary/],
]) {
  test(`sendStream(${args.map(label)}) is rejected with a TypeError`, async (t) => {
    await t.throwsAsync(millrace.sendStream(...args), { instanceOf: TypeError, message: named });
  });
}

const WRONG_OPTIONS = [
  [undefined, /options/],
  [null, /options/],
  ['127.0.0.1:0', /options/],
  [{}, /bind/],
  [{ bind: 5 }, /bind/],
  [{ bind: null }, /bind/],
  [{ bind: [5] }, /bind/],
  [{ bind: [{}] }, /bind/],
  [{ bind: [{ address: '127.0.0.1:0', protocol: 'gopher' }] }, /protocol/],
  [{ workerPath: 5 }, /workerPath/],
  [{ workerPath: null }, /workerPath/],
  [{ threads: -1 }, /threads/],
  [{ threads: 2.7 }, /threads/],
  [{ threads: '3' }, /threads/],
  [{ threads: Number.NaN }, /threads/],
  [{ ioThreads: 0 }, /ioThreads/],
  [{ ioThreads: -1 }, /ioThreads/],
  [{ ioThreads: '2' }, /ioThreads/],
  [{ ioUring: 'no' }, /ioUring/],
  [{ channels: 5 }, /channels must be an object or a list/],
  [{ channels: { a: 5 } }, /channels\["a"\] must be an object/],
  [{ channels: { a: { compress: 'no' } } }, /channels\["a"\]\.compress/],
  [{ channels: { a: { unknown: true } } }, /channels\["a"\]\.unknown/],
  [{ channels: { 7: {} } }, /channels\["7"\]: the order/],
  [{ channels: [['a']] }, /channels\[0\] must be \[glob, terms\]/],
  [{ channels: [['a'.repeat(1025), {}]] }, /cannot exceed 1024 bytes, got 1025/],
  [{ channels: Array.from({ length: 65 }, (_, index) => [`${index}`, {}]) }, /at most 64 entries, not 65/],
  [{ limits: 5 }, /limits/],
  [{ limits: { messageBytes: '1' } }, /messageBytes/],
  [{ limits: { unknown: 1 } }, /unknown/],
  [{ origins: 5 }, /origins/],
  [{ origins: 'everywhere' }, /origins/],
  [{ origins: [5] }, /origins/],
  [{ onError: 'log' }, /onError/],
  [{ nonsense: true }, /nonsense/],
];

for (const [index, [options, pattern]] of WRONG_OPTIONS.entries()) {
  test(`start(${JSON.stringify(options)}) rejects with a TypeError that names ${pattern.source} (${index})`, async (t) => {
    const whole = options !== null && typeof options === 'object' && Object.keys(options).length > 0;
    const given = whole ? { bind: '127.0.0.1:0', workerPath: worker('commands'), ...options } : options;
    const error = await t.throwsAsync(millrace.start(given), { instanceOf: TypeError });
    t.regex(error.message, pattern);
    t.deepEqual(millrace.getDebugState('workers'), {});
  });
}

test('all problems of the options are reported at once', async (t) => {
  const error = await t.throwsAsync(millrace.start({ bind: 5, threads: -1, limits: { messageBytes: 'x' } }), {
    instanceOf: TypeError,
  });
  for (const name of ['bind', 'threads', 'messageBytes']) t.true(error.message.includes(name), error.message);
});

test('other errors are MillraceErrors with a stable code', async (t) => {
  const error = await t.throwsAsync(
    millrace.start({ bind: '192.0.2.1:1', workerPath: worker('commands'), threads: 1 }),
  );
  t.true(error instanceof millrace.MillraceError);
  t.regex(error.code, /^ERR_MILLRACE_[A-Z_]+$/);
  t.is(error.name, 'MillraceError');
});

test('a wrong argument in a worker is the same TypeError and leaves the worker usable', async (t) => {
  const ws = await member(t, server);
  for (const [fn, args, pattern] of [
    ['send', [null, 'x'], /target/],
    ['subscribe', [ws.id, null], /channel/],
    ['setToken', ['1', 'x'], /socketId/],
  ]) {
    await t.throwsAsync(ask(ws, { cmd: 'call', fn, args }), { name: 'TypeError', message: pattern });
  }
  t.is(await ask(ws, { cmd: 'ping' }), 'pong');
});

test('a getter among the arguments that throws, throws', (t) => {
  const trap = {
    get except() {
      throw new RangeError('from a getter');
    },
  };
  t.throws(() => millrace.send(1, 'x', trap), { instanceOf: RangeError });
  const array = [1];
  Object.defineProperty(array, 0, {
    get() {
      throw new RangeError('from an element');
    },
  });
  t.throws(() => millrace.send(array, 'x'), { instanceOf: RangeError });
});

test('a getter among the arguments may call the functions again', (t) => {
  millrace.setKey('outer', 'outer value');
  const array = ['first name', 'x', 'last name'];
  Object.defineProperty(array, 1, {
    get() {
      millrace.send('inner name', 'inner data');
      millrace.subscribe([], 'inner channel');
      t.is(Buffer.from(millrace.getKey('outer')).toString(), 'outer value');
      return 'second name';
    },
  });
  t.is(millrace.send(array, 'outer data'), 0);
  t.deepEqual(millrace.subscribe(array, 'outer channel'), []);
});

test('detached and shared buffers do no harm', (t) => {
  const bytes = new Uint8Array(16);
  structuredClone(bytes, { transfer: [bytes.buffer] });
  t.notThrows(() => millrace.send('nobody', bytes));
  t.throws(() => millrace.send('nobody', new SharedArrayBuffer(4)), { instanceOf: TypeError });
});

test('huge and odd arguments', (t) => {
  t.is(millrace.send(Number.MAX_SAFE_INTEGER, 'x'), 0);
  t.is(
    millrace.send(
      Array.from({ length: 100_000 }, (_, index) => index + 1_000_000),
      'x',
    ),
    0,
  );
  t.is(millrace.send('c'.repeat(1000), 'd'.repeat(1_000_000)), 0);
  t.deepEqual(millrace.subscribe([], 'nothing'), []);
  t.false(millrace.close(Number.MAX_SAFE_INTEGER));
});

test('stats has the documented parts', async (t) => {
  const stats = await server.call('stats');
  const counters = [
    'connections',
    'sockets',
    'virtualSockets',
    'channels',
    'patterns',
    'subscriptions',
    'keys',
    'opened',
    'closed',
  ];
  const traffic = [
    'messagesIn',
    'bytesIn',
    'bytesOut',
    'deliveries',
    'droppedByClose',
    'droppedByOverflow',
    'outboxBytes',
    'inboundBytes',
    'inboundCloses',
  ];
  for (const name of [...counters, ...traffic]) t.is(typeof stats[name], 'number', name);
  t.is(stats.workers.length, 1);
  t.is(typeof stats.workers[0].connections, 'number');
  t.true(stats.residentBytes > 2 ** 20);
});

test('stats times handlers: a slow one is seen in its bucket, and every event is counted', async (t) => {
  const own = await ownServer(t, { workerPath: worker('commands'), threads: 1 });
  const ws = await member(t, own);
  // the bucket of 2^16 to 2^17 µs, and those above it for a machine that is slow itself
  const slow = (stats) => stats.handlerTimes.slice(17).reduce((sum, count) => sum + count, 0);
  const quick = (stats) => stats.handlerTimes.slice(0, 17).reduce((sum, count) => sum + count, 0);
  t.is((await own.call('stats')).handlerTimes.length, 24);
  await until(async () => {
    await ask(ws, { cmd: 'ping' });
    return quick(await own.call('stats')) > 0;
  }, 'a handler that is not slow');
  const before = await own.call('stats');
  await ask(ws, { cmd: 'block', ms: 70 });
  await ask(ws, { cmd: 'delay', ms: 70 });
  // an answer is there before the promise of its handler is settled
  await until(async () => slow(await own.call('stats')) >= slow(before) + 2, 'both slow handlers in the histogram');
  const after = await own.call('stats');
  t.true(after.workers[0].events >= before.workers[0].events + 2);
});

test('a process that only imports the package exits', async (t) => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import ${JSON.stringify(path.join(here, '..', 'support', 'millrace.mjs'))}; console.log('imported')`,
    ],
    { timeout: SOON },
  );
  t.is(stdout.trim(), 'imported');
});

test('the process exits by itself after stop', async (t) => {
  const own = await ownServer(t, { workerPath: worker('commands'), threads: 2 });
  await own.stop();
  await own.end();
  t.deepEqual(await own.exited, { code: 0, signal: null });
});

test('the types: api.test-d.ts compiles', async (t) => {
  const tsc = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  t.true(existsSync(tsc), 'typescript is installed');
  const args = [
    '--ignoreConfig',
    '--noEmit',
    '--strict',
    '--target',
    'es2022',
    '--module',
    'nodenext',
    '--moduleResolution',
    'nodenext',
    '--types',
    'node',
    '--skipLibCheck',
    'false',
    path.join(here, 'api.test-d.ts'),
  ];
  const result = await promisify(execFile)(process.execPath, [tsc, ...args], { cwd: root, timeout: 5 * SOON }).catch(
    (error) => error,
  );
  t.is(result.code ?? 0, 0, result.stdout);
});
