// How `createSplice` reads its options, and durations and sizes as text. Nothing is started.
import test from 'ava';

import { parseSpliceOptions } from '../../js/dist/splice/splice-options.js';
import { bytesOf, millisecondsOf } from '../../js/dist/splice/units.js';

const LOCAL = '127.0.0.1:0';

test('durations are sums of numbers with units', (t) => {
  for (const [text, expected] of [
    ['5s', 5_000],
    ['1m30s', 90_000],
    ['1.5h', 5_400_000],
    ['.5s', 500],
    ['250ms', 250],
    ['1s250ms', 1_250],
    ['1500us', 2],
    ['1500µs', 2],
    ['1500μs', 2],
    ['1ns', 1],
    ['0', 0],
    ['0s', 0],
  ]) {
    t.is(millisecondsOf(text), expected, text);
  }
  for (const text of [
    '',
    '5',
    's',
    '5 s',
    '-5s',
    '5S',
    '5sec',
    '5s5',
    '1e3s',
    '.s',
    '5d',
    'Infinity',
    '9'.repeat(80),
  ]) {
    t.is(millisecondsOf(text), undefined, text);
  }
});

test('sizes are sums of numbers with units, which are powers of two', (t) => {
  for (const [text, expected] of [
    ['5MB', 5 * 1024 * 1024],
    ['5MiB', 5 * 1024 * 1024],
    ['512KiB', 512 * 1024],
    ['512kb', 512 * 1024],
    ['1.5KB', 1536],
    ['1MB512KB', 1536 * 1024],
    ['2GB', 2 * 1024 ** 3],
    ['1TiB', 1024 ** 4],
    ['10B', 10],
    ['524288', 524_288],
    ['0', 0],
  ]) {
    t.is(bytesOf(text), expected, text);
  }
  for (const text of ['', 'MB', '5 MB', '-5MB', '5M', '5Mb5', '1e3', '0x10', '5PB', '9'.repeat(80)]) {
    t.is(bytesOf(text), undefined, text);
  }
});

test('the names of the original are limits, with its defaults', (t) => {
  t.like(parseSpliceOptions({ bind: LOCAL }), {
    limits: { controlBytes: 5 * 1024 * 1024, writeTimeoutMs: 5_000, dialTimeoutMs: 10_000 },
  });
  const given = {
    bind: LOCAL,
    frameSizeLimit: '512KiB',
    writeTimeout: '1s',
    dialTimeout: 250,
    limits: { targetsTotal: 3 },
  };
  t.deepEqual(parseSpliceOptions(given).limits, {
    controlBytes: 524_288,
    writeTimeoutMs: 1_000,
    dialTimeoutMs: 250,
    targetsTotal: 3,
  });
  const { limits } = parseSpliceOptions({
    bind: LOCAL,
    limits: { controlBytes: 7, writeTimeoutMs: 8, dialTimeoutMs: 9 },
  });
  t.deepEqual(limits, { controlBytes: 7, writeTimeoutMs: 8, dialTimeoutMs: 9 });
});

test('a limit of control messages above that of messages raises the latter', (t) => {
  const bytes = (options) => parseSpliceOptions({ bind: LOCAL, ...options }).limits.messageBytes;
  t.is(bytes({ frameSizeLimit: '16MB' }), undefined);
  t.is(bytes({ frameSizeLimit: '20MB' }), 20 * 1024 * 1024);
  t.is(bytes({ frameSizeLimit: '20MB', limits: { messageBytes: 5 } }), 5);
});

test('common options apply to all listeners without their own', (t) => {
  const { bind } = parseSpliceOptions({
    bind: [LOCAL, { address: ':0', allowedHostnames: 'a.example', binary: undefined, tls: false }],
    anyTarget: false,
    binary: true,
    trustProxy: ['loopback'],
    proxyProtocol: true,
  });
  const shared = { protocol: 'splice', anyTarget: false, binary: true, proxyProtocol: true };
  t.deepEqual(bind, [
    { ...shared, address: LOCAL },
    { ...shared, address: ':0', allowedHostnames: 'a.example', tls: false },
  ]);
});

test('with a certificate authority for clients, they need a certificate', (t) => {
  const [tls, optional] = [
    { cert: 'cert.pem', key: 'key.pem', ca: 'ca.pem' },
    { cert: 'cert.pem', key: 'key.pem', ca: 'ca.pem', clientCertificates: 'optional' },
  ];
  const options = parseSpliceOptions({
    bind: [LOCAL, { address: LOCAL, tls }, { address: LOCAL, tls: optional }],
    tls,
  });
  t.is(options.tls.clientCertificates, 'required');
  t.is(options.bind[1].tls.clientCertificates, 'required');
  t.is(options.bind[2].tls.clientCertificates, 'optional');
  t.is(tls.clientCertificates, undefined, 'what was given stays as it is');
});

test('every problem is reported with its path', (t) => {
  const error = t.throws(
    () =>
      parseSpliceOptions({
        bind: [
          ':0',
          { address: LOCAL, protocol: 'http', keysBytes: 1 },
          3,
          { address: LOCAL, allowedHostnames: '' },
          { address: LOCAL, localTargets: true },
        ],
        port: 1,
        workerPath: 'worker.js',
        frameSizeLimit: 0,
        writeTimeout: '5',
        dialTimeout: 1,
        limits: { dialTimeoutMs: 1, nonsense: 1 },
        anyTarget: 'yes',
        eventName: 'closed',
        tls: { ca: 'ca.pem' },
        proxyProtocol: true,
        ioThreads: 0,
        localTargets: true,
      }),
    { instanceOf: TypeError },
  );
  const [first, ...lines] = error.message.split('\n  ');
  t.is(first, 'invalid options:');
  t.deepEqual(lines.sort(), [
    'options.anyTarget must be true or false, not "yes"',
    'options.bind[0] is ":0", which is not a loopback address: it needs allowedHostnames, or anyTarget: true to let every client reach any host (createSplice has no handleSpliceConnect)',
    'options.bind[1].protocol must be \'splice\', not "http"',
    'options.bind[2] must be an address or a listener object, not 3',
    'options.bind[3].allowedHostnames must name a host in every text, not ""',
    'options.dialTimeout and options.limits.dialTimeoutMs exclude each other',
    "options.eventName must be 'onSocketDisconnect' or 'onSocketClosed', not \"closed\"",
    'options.frameSizeLimit must be 1 to 2147483647 bytes, or a text such as "5MB" that says so, not 0',
    'options.ioThreads must be a whole number from 1 to 64, not 0',
    'options.proxyProtocol needs trustProxy: the addresses of the proxies that send the header',
    'options.tls must have cert and key, or names',
    'options.writeTimeout must be 1 to 86400000 milliseconds, or a text such as "5s" that says so, not "5"',
    'unknown option options.bind[1].keysBytes',
    'unknown option options.bind[4].localTargets',
    'unknown option options.limits.nonsense',
    'unknown option options.localTargets',
    'unknown option options.port',
    'unknown option options.workerPath',
  ]);
});

test('one problem is the message', (t) => {
  for (const [options, message] of [
    [undefined, 'options must be an object, not undefined'],
    [{}, 'options.bind is required: an address such as "127.0.0.1:8080", or an array of addresses'],
    [{ bind: 'here' }, /^options\.bind must be "ip:port"/],
    [{ bind: LOCAL, limits: 5 }, 'options.limits must be an object, not 5'],
    [{ bind: LOCAL, limits: null }, 'options.limits must be an object, not null'],
    [{ bind: LOCAL, tls: 'cert.pem' }, 'options.tls must be an object, not "cert.pem"'],
  ]) {
    t.throws(() => parseSpliceOptions(options), { instanceOf: TypeError, message });
  }
});

test('which addresses need a list of targets', (t) => {
  const needs = (address, options) => {
    try {
      parseSpliceOptions({ bind: address, ...options });
      return false;
    } catch (error) {
      t.regex(error.message, /is not a loopback address/);
      return true;
    }
  };
  for (const address of ['127.0.0.1:0', '127.9.9.9:0', 'localhost:0', '[::1]:0', 'unix:/run/splice']) {
    t.false(needs(address), address);
  }
  for (const address of [':0', '0.0.0.0:0', '192.0.2.1:0', '[::]:0', '[2001:db8::1]:0', '[::ffff:127.0.0.1]:0']) {
    t.true(needs(address), address);
    t.true(needs(address, { allowedHostnames: [] }), address);
    t.true(needs(address, { anyTarget: false, privateTargets: true }), address);
    t.false(needs(address, { allowedHostnames: 'a.example' }), address);
    t.false(needs(address, { anyTarget: true }), address);
  }
});
