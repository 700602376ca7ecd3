// `millrace splice`: a real multiplexer in a child process, with clients and targets of the ws package.
import { once } from 'node:events';
import net from 'node:net';
import test from 'ava';

import { ask } from '../support/ask.mjs';
import { folderWith, Millrace, millrace, RUNTIMES } from '../support/cli.mjs';
import { within } from '../support/deadline.mjs';
import { signalTests } from '../support/platforms.mjs';
import { echoTarget, reach, Session } from '../support/splice-ws.mjs';
import { connect } from '../support/ws-client.mjs';

const LOCAL = ['--listen', '127.0.0.1:0'];

/** One that runs until the test ends. */
function running(t, args, more) {
  return new Millrace(t, ['splice', ...LOCAL, ...args], more);
}

async function sessionOf(t, run) {
  return Session.open(t, await run.address());
}

/** The code of the error with which a target is refused; 0: it is not. */
async function codeOf(session, url) {
  return (await session.call('connect', { url })).error?.code ?? 0;
}

for (const runtime of RUNTIMES) {
  signalTests(test)(`${runtime}: relays, and a signal stops it`, async (t) => {
    const [target, run] = [await echoTarget(t), running(t, [], { runtime })];
    const session = await sessionOf(t, run);
    const { index, closed } = await reach(session, target);
    t.deepEqual(await session.echo(index, 'grüße'), { index, text: 'grüße', isBinary: false });
    t.is(await codeOf(session, target.url('localhost')), 0, 'every target, as with wsplice');
    run.signal('SIGTERM');
    t.deepEqual(await within(session.closed, 'the end of the session'), { code: 1001, reason: '' });
    t.is((await within(closed, 'the end of the target')).code, 1001);
    t.is(await run.exit(), 0);
    t.regex(run.out, /^Listening on ws:\/\/127\.0\.0\.1:\d+\nStopping\n$/);
    t.is(run.err, '');
  });
}

test('hosts are listed by several options, and several in each', async (t) => {
  const target = await echoTarget(t);
  const session = await sessionOf(
    t,
    running(t, ['--allowed-hostnames', 'a.example, LOCALHOST', '--allowed-hostnames=127.0.0.2\t127.0.0.3']),
  );
  t.is(await codeOf(session, target.url('localhost')), 0);
  t.is(await codeOf(session, target.url()), 4006);
  for (const host of ['127.0.0.2', '127.0.0.3']) t.is(await codeOf(session, target.url(host)), 4007, 'nobody is there');
  t.is(await codeOf(session, target.url('127.0.0.4')), 4006);
  t.is(await codeOf(session, 'ws://not.a.example/'), 4006, 'a name is all of it');
  const listed = await sessionOf(t, running(t, ['--allowed-hostnames', '127.0.0.1', '--any-target']));
  t.is(await codeOf(listed, target.url('localhost')), 4006, 'a list is a list');
  t.is(await codeOf(listed, target.url()), 0);
});

test('private targets are reached if an option allows it', async (t) => {
  const target = await echoTarget(t);
  for (const [args, code] of [
    [['--no-private-targets'], 4006],
    [['--no-any-target'], 4006],
    [['--private-targets'], 0],
  ]) {
    t.is(await codeOf(await sessionOf(t, running(t, args)), target.url()), code, args.join(' '));
  }
  const everywhere = async (args) => {
    const run = new Millrace(t, ['splice', '--listen', '0.0.0.0:0', ...args]);
    const [, port] = await run.prints(/Listening on ws:\/\/0\.0\.0\.0:(\d+)\n/);
    return codeOf(await Session.open(t, `127.0.0.1:${port}`), target.url());
  };
  t.is(await everywhere(['--any-target']), 4006, 'others could reach the private network');
  t.is(await everywhere(['--any-target', '--private-targets']), 0);
  t.is(await everywhere(['--allowed-hostnames', '127.0.0.1']), 0);
});

test('several listeners, of IPv6 with --network tcp6', async (t) => {
  const run = new Millrace(t, ['splice', '--listen=127.0.0.1:0', '--listen', 'localhost:0']);
  const [, one, two] = await run.prints(/Listening on ws:\/\/(\S+)\nListening on ws:\/\/(\S+)\n/);
  t.not(one, two);
  t.is((await ask(one, '/')).status, 400);
  t.is((await ask(two, '/')).status, 400);
  const six = new Millrace(t, ['splice', '--network', 'tcp6', '--listen', 'localhost:0']);
  const [, address] = await six.prints(/Listening on ws:\/\/(\S+)\n/);
  t.regex(address, /^\[::1\]:\d+$/);
  t.is((await ask(address, '/')).status, 400);
  const any = new Millrace(t, ['splice', '--network=tcp6', '--listen=:0', '--any-target']);
  const [, port] = await any.prints(/Listening on ws:\/\/\[::\]:(\d+)\n/);
  t.is((await ask(`[::1]:${port}`, '/')).status, 400);
  await t.throwsAsync(ask(`127.0.0.1:${port}`, '/'), { code: 'ECONNREFUSED' });
});

test('limits in units', async (t) => {
  const mute = net.createServer((socket) => socket.on('error', () => {}));
  mute.listen(0, '127.0.0.1');
  t.teardown(() => mute.close());
  await once(mute, 'listening');
  const args = ['--frame-size-limit', '1KB', '--dial-timeout=100ms', '--write-timeout', '2s', '--read-timeout=1s'];
  const session = await sessionOf(t, running(t, args));
  t.like(await session.call('connect', { url: `ws://127.0.0.1:${mute.address().port}/` }), {
    error: { code: 4007, message: 'client timeout' },
  });
  session.control('x'.repeat(1024));
  t.like(await session.event(), { method: 'warn', params: { code: 4000 } });
  session.control('x'.repeat(1025));
  t.is((await within(session.closed, 'the end of the session')).code, 1009);
});

test('options for events, messages and metrics', async (t) => {
  const target = await echoTarget(t);
  const run = running(t, ['--event-name', 'onSocketClosed', '--binary', '--metrics']);
  const session = await sessionOf(t, run);
  const { index, socket } = await reach(session, target);
  t.deepEqual(await session.echo(index, 'text'), { index, text: 'text', isBinary: true });
  socket.close(4001, 'bye');
  t.like(await session.event(), { method: 'onSocketClosed', params: { index, code: 4001, reason: 'bye' } });
  const metrics = await ask(await run.address(), '/metrics');
  t.is(metrics.status, 200);
  t.regex(metrics.text, /^millrace_/m);
  t.is((await ask(await running(t, ['--metrics=/m']).address(), '/m')).status, 200);
  t.is((await ask(await running(t, []).address(), '/metrics')).status, 400);
});

test('by default, only origins of the same host may connect', async (t) => {
  const headers = { Origin: 'https://elsewhere.example' };
  await t.throwsAsync(connect(t, await running(t, []).address(), { headers }), { message: /403/ });
  await connect(t, await running(t, ['--origin', headers.Origin]).address(), { headers });
  t.pass();
});

test('a file has the same names, and the command line goes before it', async (t) => {
  const target = await echoTarget(t);
  const file = {
    listen: ['127.0.0.1:0'],
    'allowed-hostnames': ['a.example', '127.0.0.1'],
    'frame-size-limit': 1024,
    'dial-timeout': 5000,
    'event-name': 'onSocketClosed',
    binary: true,
    metrics: '/m',
    'any-target': false,
  };
  const cwd = folderWith(t, { 'splice.json': JSON.stringify(file) });
  const whole = new Millrace(t, ['splice', '--config', 'splice.json'], { cwd });
  const session = await sessionOf(t, whole);
  t.is(await codeOf(session, target.url('localhost')), 4006);
  const { index, socket } = await reach(session, target);
  t.true((await session.echo(index, 'x')).isBinary);
  socket.close(4001);
  t.like(await session.event(), { method: 'onSocketClosed' });
  t.is((await ask(await whole.address(), '/m')).status, 200);
  session.control('x'.repeat(1025));
  t.is((await within(session.closed, 'the end of the session')).code, 1009);

  const flags = ['--no-binary', '--metrics', '--allowed-hostnames=localhost', '--event-name=onSocketDisconnect'];
  const other = new Millrace(t, ['splice', ...flags, '--config=splice.json', '--frame-size-limit=2KB'], { cwd });
  const changed = await sessionOf(t, other);
  t.is(await codeOf(changed, target.url()), 4006);
  t.is(await codeOf(changed, target.url('localhost')), 0);
  t.false((await changed.echo(0, 'x')).isBinary);
  t.is((await ask(await other.address(), '/metrics')).status, 200);
  t.is((await ask(await other.address(), '/m')).status, 400);
  changed.control('x'.repeat(1025));
  t.like(await changed.event(), { method: 'warn' });
});

test('options without effect are accepted and reported', async (t) => {
  const run = running(t, ['--pprof-address=127.0.0.1:6060', '--read-timeout', '1m']);
  await run.address();
  await run.prints(/^millrace: splice: --pprof-address has no effect: there is no Go program to profile\n$/, 'err');
  t.pass();
});

test('sessions are in the log at the level debug', async (t) => {
  const run = running(t, [], { env: { RUST_LOG: 'debug' } });
  const session = await sessionOf(t, run);
  session.ws.close(1000);
  await run.prints(/DEBUG millrace::connection: closed socket=1 code=1000 by_peer=true\n/, 'err');
  t.regex(run.err, /INFO millrace::listener: listening address=127\.0\.0\.1:\d+\n/);
  t.regex(run.err, /DEBUG millrace::connection: opened socket=1 /);
});

signalTests(test)('a second signal ends at once, with the exit code that shells know', async (t) => {
  const run = running(t, []);
  // it holds the stop, because it does not answer the goodbye
  await connect(t, await run.address(), { paused: true });
  run.signal('SIGINT');
  await run.prints(/Stopping/);
  run.signal('SIGINT');
  t.is(await run.exit(), 130);
});

test('if it cannot start, it prints one line and ends with exit code 1', async (t) => {
  const address = await running(t, []).address();
  const taken = await millrace(t, ['splice', '--listen', address]);
  t.deepEqual([taken.code, taken.out], [1, '']);
  t.regex(taken.err, /^millrace: [^\n]*ERR_MILLRACE_ADDRESS_IN_USE[^\n]*\n$/);
  const host = await millrace(t, ['splice', ...LOCAL, '--allowed-hostnames', 'http://a.example']);
  t.is(host.code, 1);
  t.regex(host.err, /^millrace: allowedHostnames: 'http:\/\/a\.example' is no host[^\n]*\n$/);
  const cwd = folderWith(t, { 'no.pem': 'nothing' });
  const tls = await millrace(t, ['splice', ...LOCAL, '--tls-cert=no.pem', '--tls-key=no.pem'], { cwd });
  t.is(tls.code, 1);
  t.regex(tls.err, /^millrace: [^\n]*ERR_MILLRACE_INVALID_TLS[^\n]*\n$/);
});

test('help and version', async (t) => {
  const { code, out } = await millrace(t, ['splice', '--help']);
  t.is(code, 0);
  for (const option of OPTIONS) t.true(out.includes(`--${option}`), option);
  t.is((await millrace(t, ['help', 'splice'])).out, out);
  t.deepEqual(await millrace(t, ['splice', '--version']), await millrace(t, ['--version']));
});

const OPTIONS = [
  ...['listen', 'network', 'allowed-hostnames', 'pprof-address', 'tls-cert', 'tls-key', 'tls-ca', 'frame-size-limit'],
  ...['write-timeout', 'read-timeout', 'dial-timeout', 'event-name', 'any-target', 'private-targets', 'origin'],
  ...['binary', 'metrics', 'version', 'config'],
];

const WRONG = [
  [['worker.mjs'], /unexpected argument worker\.mjs \(see millrace splice --help\)$/],
  [['--bind', ':0'], /unknown option --bind/],
  [['--listen'], /--listen needs a value/],
  [['--listen', '3000'], /--listen must be .*, not "3000"/],
  [['--listen', ':0'], /others can reach :0: list hosts by --allowed-hostnames, or .* by --any-target$/],
  [['--listen=127.0.0.1:0', '--listen=[::]:0'], /others can reach \[::\]:0/],
  [['--listen=:0', '--no-any-target'], /others can reach :0/],
  [['--listen=:0', '--allowed-hostnames='], /--allowed-hostnames must name a host/],
  [['--allowed-hostnames', ' , '], /--allowed-hostnames must name a host/],
  [['--network', 'tcp4'], /--network must be 'tcp' or 'tcp6', not "tcp4"/],
  [['--network=tcp6', '--listen=127.0.0.1:0'], /must be an address of IPv6 with --network tcp6, not "127\.0\.0\.1:0"/],
  [['--tls-cert', 'a.pem'], /TLS needs --tls-cert and --tls-key/],
  [['--tls-ca', 'a.pem'], /TLS needs --tls-cert and --tls-key/],
  [['--tls-key', 'nowhere.pem'], /--tls-key: there is no file nowhere\.pem/],
  [['--frame-size-limit', '5 apples'], /--frame-size-limit must be a size such as 5MB, .*, not "5 apples"/],
  [['--frame-size-limit=0'], /--frame-size-limit must be a size/],
  [['--write-timeout', '5'], /--write-timeout must be a time such as 5s, from 1 to 86400000 ms, not "5"/],
  [['--dial-timeout=0s'], /--dial-timeout must be a time/],
  [['--read-timeout=soon'], /--read-timeout must be a time/],
  [['--event-name', 'closed'], /--event-name must be 'onSocketDisconnect' or 'onSocketClosed', not "closed"/],
  [['--origin', 'example.org'], /--origin must be/],
  [['--binary=yes'], /--binary takes no value/],
  [['--binary', '--no-binary'], /--binary and --no-binary exclude each other/],
  [['--metrics=m'], /--metrics must be a path such as \/metrics, not "m"/],
  [['--metrics', '/m'], /unexpected argument \/m/],
  [['--config', 'nowhere.json'], /nowhere\.json cannot be read/],
  [['--config', 'no.json'], /no\.json is not valid JSON/],
  [['--config', 'list.json'], /list\.json must have an object, not an array/],
  [
    ['--config', 'wrong.json'],
    /wrong\.json: unknown option "port"; unknown option "config"; unknown option "no-binary"; "listen" must be a text, not 3000; "binary" must be true or false, not "yes"; "metrics" must be a text, true or false, not 1; "origin" must be a text, not an array$/,
  ],
  [['--config', 'open.json'], /others can reach :0/],
];

const FILES = {
  'a.pem': '',
  'no.json': '{',
  'list.json': '[]',
  'wrong.json': JSON.stringify({
    port: 1,
    config: 'a.json',
    'no-binary': true,
    listen: 3000,
    binary: 'yes',
    metrics: 1,
    origin: [1],
    'any-target': true,
  }),
  'open.json': '{"listen": ":0"}',
};

for (const [args, message] of WRONG) {
  test(`wrong: millrace splice ${args.join(' ')}`, async (t) => {
    const { code, out, err } = await millrace(t, ['splice', ...args], { cwd: folderWith(t, FILES) });
    t.is(code, 2);
    t.is(out, '');
    t.regex(err.trimEnd(), message);
    t.regex(err, /^millrace: splice: [^\n]+\n$/, 'one line');
  });
}
