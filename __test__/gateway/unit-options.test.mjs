// The options of `start`, without starting anything: what is accepted, and how every problem is named.
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import test from 'ava';

const require = createRequire(import.meta.url);
const { parseStartOptions } = require('../../js/dist/options/start-options.js');
const { parseReplaceOptions } = require('../../js/dist/options/server-options.js');

const MODULE = { workerPath: '/app/worker.js' };

function messageOf(options, first = true) {
  try {
    parseStartOptions(options, first);
  } catch (error) {
    return error instanceof TypeError ? error.message : `not a TypeError: ${error}`;
  }
  return 'accepted';
}

test('every documented form of an address is accepted', (t) => {
  for (const bind of [
    '127.0.0.1:80',
    '[::1]:80',
    '[::]:0',
    'localhost:8080',
    ':0',
    'unix:/tmp/socket',
    '0.0.0.0:65535',
  ]) {
    const plan = { address: bind, protocol: 'http', options: {} };
    t.deepEqual(parseStartOptions({ bind, ...MODULE }, true).listeners, [plan], bind);
  }
  t.deepEqual(parseStartOptions({ bind: [], ...MODULE }, true).listeners, []);
});

test('any other address is reported with its place', (t) => {
  for (const bind of [
    '',
    '80',
    'example.org:80',
    '127.0.0.1',
    '127.0.0.1:',
    '::1:80',
    '[127.0.0.1]:80',
    ':65536',
    'unix:',
  ]) {
    t.regex(messageOf({ bind, ...MODULE }), /^options\.bind must be "ip:port".*not "/, bind);
  }
  t.regex(
    messageOf({ bind: [':0', 5], ...MODULE }),
    /^options\.bind\[1\] must be an address or a listener object, not 5$/,
  );
  t.regex(messageOf({ bind: { address: 7 }, ...MODULE }), /^options\.bind\.address must be an address .* not 7$/);
  t.regex(messageOf({ ...MODULE }), /^options\.bind is required/);
});

test('all problems are reported at once', (t) => {
  const message = messageOf({ bind: 'x', threads: -1, limits: { outboxBytes: 'a' }, metrics: {}, onError: 1 });
  for (const part of [
    'options.metrics must be true, false or a path',
    'options.limits.outboxBytes must be a whole number',
    'options.bind must be',
    'options.threads must be a whole number from 0',
    'options.workerPath or options.handlers is required',
    'options.onError must be a function, not 1',
  ]) {
    t.true(message.includes(part), `${part} in ${message}`);
  }
});

test('rawMethods is an option of a listener', (t) => {
  const { listeners } = parseStartOptions({ bind: [':1', { address: ':2', rawMethods: true }], ...MODULE }, true);
  t.deepEqual(
    listeners.map(({ options }) => options),
    [{}, { rawMethods: true }],
  );
  t.is(
    messageOf({ bind: { address: ':0', rawMethods: 1 }, ...MODULE }),
    'options.bind.rawMethods must be true or false, not 1',
  );
  t.is(messageOf({ bind: ':0', rawMethods: true, ...MODULE }), 'unknown option options.rawMethods');
});

test('the options of a listener for Redis clients are checked', (t) => {
  const at = 'options.bind';
  const bob = { name: 'bob', password: 'b' };
  for (const [more, message] of [
    [
      { address: '0.0.0.0:1' },
      `${at} needs a password, users or allowAnyone: "0.0.0.0:1" can be reached by other machines`,
    ],
    [{ address: ':1' }, `${at} needs a password, users or allowAnyone: ":1" can be reached by other machines`],
    [{ password: '' }, `${at}.password must be a text that is not empty, not an empty one`],
    [{ users: [] }, `${at}.users must be an array of users, not an empty one`],
    [{ users: [bob, bob] }, `${at}.users[1].name must be another one than those before, not "bob"`],
    [{ users: [{ name: 'bob' }] }, `${at}.users[0].password must be a text that is not empty, not undefined`],
    [{ users: [{ ...bob, channel: [] }] }, `unknown option ${at}.users[0].channel; did you mean channels?`],
    [{ users: [{ ...bob, channels: 'a' }] }, `${at}.users[0].channels must be an array of texts, not "a"`],
    [{ users: [{ ...bob, keys: [1] }] }, `${at}.users[0].keys[0] must be a text of at most 1024 bytes, not 1`],
    [{ publishAs: 'json' }, `${at}.publishAs must be 'auto', 'text' or 'binary', not "json"`],
    [{ allowAnyone: 1 }, `${at}.allowAnyone must be true or false, not 1`],
    [{ rawMethods: true }, `${at}.rawMethods is for listeners with protocol 'http'`],
    [{ static: '.' }, `${at}.static is for listeners with protocol 'http'`],
    [{ protocol: 'http', password: 'x' }, `${at}.password is for listeners with protocol 'resp'`],
  ]) {
    t.is(messageOf({ bind: { address: '127.0.0.1:1', protocol: 'resp', ...more }, ...MODULE }), message);
  }
  for (const address of ['localhost:1', '[::1]:1', '127.3.2.1:1', 'unix:/tmp/s']) {
    t.is(messageOf({ bind: { address, protocol: 'resp' }, ...MODULE }), 'accepted');
  }
  const bind = { address: ':1', protocol: 'resp', users: [{ ...bob, commands: ['GET'] }], publishAs: 'text' };
  const common = { static: '.', events: true, origins: 'same-host', trustProxy: ['::1'] };
  t.deepEqual(parseStartOptions({ bind, ...common, ...MODULE }, true).listeners, [
    {
      address: ':1',
      protocol: 'resp',
      options: { users: [{ ...bob, commands: ['get'] }], publishAs: 'text' },
      trustProxy: ['::1'],
    },
  ]);
});

test('the options of TLS are checked', (t) => {
  const pem = '-----BEGIN CERTIFICATE-----';
  const [cert, key] = [pem, '/key.pem'];
  for (const [tls, message] of [
    [true, 'options.tls must be an object, not true'],
    [{}, 'options.tls must have cert and key, or names'],
    [{ cert }, 'options.tls.key must be PEM, or the path or file: URL of a PEM file, not undefined'],
    [{ cert: new URL('http://a/'), key }, /^options\.tls\.cert must be PEM, or the path .*, not an object$/],
    [{ cert: '', key }, /^options\.tls\.cert must be PEM/],
    [{ cert: new Uint8Array(), key }, /^options\.tls\.cert must be PEM/],
    [{ cert, key, ciphers: 'x' }, 'unknown option options.tls.ciphers'],
    [{ cert, key, minVersion: 'TLSv1.1' }, "options.tls.minVersion must be 'TLSv1.2' or 'TLSv1.3', not \"TLSv1.1\""],
    [{ cert, key, http2: 1 }, 'options.tls.http2 must be true or false, not 1'],
    [{ cert, key, ca: pem }, 'options.tls.ca needs options.tls.clientCertificates'],
    [{ cert, key, clientCertificates: 'required' }, 'options.tls.clientCertificates needs options.tls.ca'],
    [{ cert, key, ca: pem, clientCertificates: true }, /^options\.tls\.clientCertificates must be 'optional' or/],
    [{ cert, key, ca: [pem, 1], clientCertificates: 'optional' }, /^options\.tls\.ca\[1\] must be PEM/],
    [{ names: [] }, /^options\.tls\.names must be an object/],
    [{ names: { 'a b': { cert, key } } }, 'options.tls.names["a b"] must be named like "a.example" or "*.example"'],
    [{ names: { a: { cert } } }, /^options\.tls\.names\["a"\]\.key must be PEM/],
  ]) {
    const found = messageOf({ bind: ':0', ...MODULE, tls });
    if (typeof message === 'string') t.is(found, message);
    else t.regex(found, message);
    const ofListener = messageOf({ bind: { address: ':0', tls }, ...MODULE });
    t.is(ofListener, found.replaceAll('options.tls', 'options.bind.tls'));
  }
  const { listeners } = parseStartOptions(
    { bind: [':1', { address: ':2', tls: false }], tls: { cert, key }, ...MODULE },
    true,
  );
  t.deepEqual(
    listeners.map((listener) => 'tls' in listener),
    [true, false],
  );
});

test('trustProxy is checked', (t) => {
  const accepted = ['127.0.0.1', '::1', '10.0.0.0/8', 'fc00::/7', '0.0.0.0/0', 'loopback', 'private', 'unix'];
  const { listeners } = parseStartOptions(
    { bind: [':1', { address: ':2', trustProxy: ['::1'], proxyProtocol: true }], trustProxy: accepted, ...MODULE },
    true,
  );
  t.deepEqual(listeners[0].trustProxy, accepted);
  t.deepEqual([listeners[1].trustProxy, listeners[1].proxyProtocol], [['::1'], true]);
  t.is(
    messageOf({ bind: ':0', ...MODULE, trustProxy: true }),
    'options.trustProxy must be an array of addresses, not true',
  );
  for (const entry of [
    '',
    'localhost',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0/8',
    '::/129',
    'fe80::1%eth0',
    '1.2.3.4:80',
    7,
  ]) {
    t.regex(
      messageOf({ bind: ':0', ...MODULE, trustProxy: ['::1', entry] }),
      /^options\.trustProxy\[1\] must be an address/,
    );
  }
  const bind = { address: ':0', proxyProtocol: true };
  t.regex(messageOf({ bind, ...MODULE }), /^options\.bind\.proxyProtocol needs trustProxy/);
  t.regex(
    messageOf({ bind: { ...bind, proxyProtocol: 1 }, ...MODULE }),
    /^options\.bind\.proxyProtocol must be true or/,
  );
});

test("a listener's own paths override the common ones", (t) => {
  const plan = parseStartOptions(
    {
      bind: [':1', { address: ':2', events: false, stats: '/numbers' }],
      events: true,
      metrics: '/m',
      ...MODULE,
    },
    true,
  );
  t.deepEqual(
    plan.listeners.map(({ options }) => options),
    [
      { events: '/events', metrics: '/m' },
      { stats: '/numbers', metrics: '/m' },
    ],
  );
  t.is(
    messageOf({ bind: { address: ':1', stats: '/m' }, metrics: '/m', ...MODULE }),
    'options.bind.metrics must be another path than options.bind.stats, not "/m"',
  );
});

test('no number is coerced', (t) => {
  for (const threads of ['3', 2.7, null, Number.NaN, -1, Number.POSITIVE_INFINITY, 3n, true]) {
    t.regex(messageOf({ bind: ':0', ...MODULE, threads }), /^options\.threads must be a whole number/, String(threads));
  }
});

test('threads default to the parallelism, at least 4, and may be 0', (t) => {
  t.true(parseStartOptions({ bind: ':0', ...MODULE }, true).workers.threads >= 4);
  t.is(parseStartOptions({ bind: ':0', ...MODULE, threads: 0 }, true).workers.threads, 0);
});

test('a worker path may be a path, a URL or its text', (t) => {
  const url = pathToFileURL(path.resolve('worker.js')).href;
  for (const workerPath of ['worker.js', path.resolve('worker.js'), new URL(url), url]) {
    t.is(parseStartOptions({ bind: ':0', workerPath }, true).workers.module, url);
  }
  for (const workerPath of ['', 5, null, {}, new URL('https://example.org/worker.js')]) {
    t.regex(messageOf({ bind: ':0', workerPath }), /^options\.workerPath must be a path or a file: URL/);
  }
});

test('later calls need no worker path, and threads only with one', (t) => {
  t.is(parseStartOptions({ bind: ':0' }, false).workers, undefined);
  t.is(messageOf({ bind: ':0', threads: 2 }, false), 'options.threads needs options.workerPath');
});

test("a listener's own limits and origins override the common ones", (t) => {
  const { listeners } = parseStartOptions(
    {
      bind: [':1', { address: ':2', origins: 'same-host', limits: { messageBytes: 5 } }],
      origins: ['https://example.org'],
      limits: { messageBytes: 9, pingIntervalMs: 0, outboxBytes: 100 },
      ...MODULE,
    },
    true,
  );
  t.deepEqual(listeners, [
    {
      address: ':1',
      protocol: 'http',
      options: { origins: ['https://example.org'] },
      limits: { messageBytes: 9, pingIntervalMs: 0 },
    },
    {
      address: ':2',
      protocol: 'http',
      options: { origins: 'same-host' },
      limits: { messageBytes: 5, pingIntervalMs: 0 },
    },
  ]);
  t.is(
    messageOf({ bind: { address: ':0', limits: { connections: 3 } }, ...MODULE }),
    'unknown option options.bind.limits.connections',
  );
});

test('the gateway gets exactly the given options', (t) => {
  const plan = parseStartOptions(
    {
      bind: ':0',
      ...MODULE,
      ioThreads: 2,
      limits: {
        outboxPolicy: 'dropOldest',
        backplaneFull: 'drop',
        handlerTimeoutMs: 7,
        workerStartTimeoutMs: 0,
        messageBytes: 5,
      },
    },
    true,
  );
  t.deepEqual(plan.gateway, { ioThreads: 2, outboxPolicy: 'dropOldest', backplaneFull: 'drop' });
  t.is(plan.handlerTimeoutMs, 7);
  t.is(plan.workerStartTimeoutMs, 0);
});

test('replaceWorkers takes a signal, nothing else', (t) => {
  const { signal } = new AbortController();
  t.is(parseReplaceOptions(undefined), undefined);
  t.is(parseReplaceOptions({ signal }), signal);
  const wrong = { name: 'TypeError' };
  t.throws(() => parseReplaceOptions({ signal: 5 }), {
    ...wrong,
    message: /^options\.signal must be an AbortSignal, not 5$/,
  });
  t.throws(() => parseReplaceOptions({ abort: 1 }), { ...wrong, message: 'unknown option options.abort' });
  t.throws(() => parseReplaceOptions(null), { ...wrong, message: 'options must be an object, not null' });
});

test('origins are scheme, host and port', (t) => {
  t.is(messageOf({ bind: ':0', ...MODULE, origins: ['https://a.example:8443', 'app://x'] }), 'accepted');
  t.regex(
    messageOf({ bind: ':0', ...MODULE, origins: ['https://a/path'] }),
    /^options\.origins\[0\] must be an origin/,
  );
  t.regex(messageOf({ bind: ':0', ...MODULE, origins: 'any' }), /^options\.origins must be/);
});

test('options are not modified', (t) => {
  const options = Object.freeze({
    bind: Object.freeze([Object.freeze({ address: ':0' })]),
    workerPath: 'worker.js',
    limits: Object.freeze({ messageBytes: 5 }),
    origins: Object.freeze(['https://a.example']),
  });
  const before = structuredClone(options);
  parseStartOptions(options, true);
  t.deepEqual({ ...options }, before);
});

test('options that are not an object', (t) => {
  for (const options of [undefined, null, 5, 'x', []]) {
    t.regex(messageOf(options), /^options must be an object/);
  }
});

test('handlers take the place of a worker path, on the calling thread', (t) => {
  const handlers = { fetch: () => {} };
  const { workers } = parseStartOptions({ bind: ':0', handlers, workerArg: 1 }, true);
  t.deepEqual(workers, { module: handlers, threads: 0, arg: 1 });
  t.is(parseStartOptions({ bind: ':0', handlers, threads: 0 }, true).workers.threads, 0);
  t.is(
    messageOf({ bind: ':0', handlers, threads: 2 }),
    'options.threads must be 0 with options.handlers, which run on the calling thread, not 2',
  );
  t.is(messageOf({ bind: ':0', handlers, ...MODULE }), 'options.handlers and options.workerPath exclude each other');
  t.regex(messageOf({ bind: ':0', handlers: 'x' }), /^options\.handlers must be an object with handlers, not "x"$/);
});

test('WebSocket paths are one path or several, for all listeners or one', (t) => {
  const plan = parseStartOptions(
    { bind: [':0', { address: ':0', websocketPath: ['/a', '/b'] }], websocketPath: '/ws', ...MODULE },
    true,
  );
  t.deepEqual(
    plan.listeners.map(({ options }) => options.websocketPaths),
    [['/ws'], ['/a', '/b']],
  );
  for (const path of ['ws', '/a b', '/a?b', 5]) {
    t.regex(
      messageOf({ bind: ':0', ...MODULE, websocketPath: path }),
      /^options\.websocketPath must be a path such as "\/ws", not/,
    );
  }
  t.regex(
    messageOf({ bind: ':0', ...MODULE, websocketPath: ['/a', ''] }),
    /^options\.websocketPath\[1\] must be a path/,
  );
});
