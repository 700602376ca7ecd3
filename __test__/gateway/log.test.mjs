// The log: the lines that onLog gets, filters, and limits. The server runs in a child process.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

import { folderWith, Millrace, RUNTIMES } from '../support/cli.mjs';
import { until } from '../support/deadline.mjs';
import { connect } from '../support/ws-client.mjs';

const program = path.join(path.dirname(fileURLToPath(import.meta.url)), '../support/log-main.mjs');

/** A logging server. */
function logged(t, options, more) {
  return new Millrace(t, [JSON.stringify(options)], { program, ...more });
}

const linesOf = (run) => [...run.out.matchAll(/^LOG (.*)\n/gm)].map(([, json]) => JSON.parse(json));
const shortOf = (run) => linesOf(run).map(({ level, target, message }) => `${level} ${target} ${message}`);

/** Waits for a line, and returns it. */
function line(run, message) {
  return until(
    async () => linesOf(run).find((one) => one.message === message),
    () => `the line "${message}"\n${run.out}${run.err}`,
  );
}

async function end(run) {
  run.tell('stop');
  return run.exit();
}

for (const runtime of RUNTIMES) {
  test(`${runtime}: the life of a server and of its connections`, async (t) => {
    const run = logged(t, { logLevel: 'debug' }, { runtime });
    const began = Date.now();
    const address = await run.address();
    const client = await connect(t, address);
    client.send('hello');
    await client.next();
    client.close(4001, 'secret words');
    const closed = await line(run, 'closed');
    t.deepEqual(closed.fields, { socket: 1, code: 4001, by_peer: true });
    t.true(Math.abs(closed.time - began) < 60_000, 'milliseconds since 1970');
    await t.throwsAsync(connect(t, address, { path: '/refused' }));
    await line(run, 'refused');
    t.is(await end(run), 0);
    const lines = shortOf(run);
    t.deepEqual(lines.slice(0, 3), [
      'info millrace::gateway started',
      'info millrace::worker ready',
      'info millrace::listener listening',
    ]);
    t.deepEqual(lines.slice(-2), ['info millrace::listener stopping', 'info millrace::gateway stopped']);
    t.true(lines.includes('debug millrace::connection opened'));
    t.deepEqual(linesOf(run)[2].fields, { address });
    t.false(run.out.includes('hello') || run.out.includes('secret words'), 'nothing of what a client sent');
  });
}

test('a gateway without a log takes no lines from a gateway with one', async (t) => {
  const run = logged(t, { logLevel: 'debug', beside: true });
  const address = await run.address();
  // the first connection of the process is that of the gateway without a log
  const other = await connect(t, (await run.prints(/^Beside it (\S+)\n/m))[1]);
  const client = await connect(t, address);
  client.close(4001);
  t.deepEqual((await line(run, 'closed')).fields, { socket: 1, code: 4001, by_peer: true });
  t.is(shortOf(run).filter((one) => one === 'debug millrace::connection opened').length, 1);
  other.destroy();
});

test('the default level leaves connections out; rules enable single targets', async (t) => {
  const plain = logged(t, {});
  const client = await connect(t, await plain.address());
  client.send('throw');
  await client.closed();
  t.like(await line(plain, 'handleTextMessage failed for socket 1: on purpose'), {
    level: 'error',
    target: 'millrace::report',
    fields: { code: 'ERR_MILLRACE_HANDLER_FAILED' },
  });
  t.is(await end(plain), 0);
  t.deepEqual(
    linesOf(plain).filter(({ level }) => level === 'debug'),
    [],
  );

  const chosen = logged(t, { logLevel: 'error,millrace::connection=debug' });
  (await connect(t, await chosen.address())).close(1000);
  await line(chosen, 'closed');
  t.is(await end(chosen), 0);
  t.deepEqual([...new Set(linesOf(chosen).map(({ target }) => target))], ['millrace::connection']);
});

test('a slow reader and a refusal by a limit are warnings', async (t) => {
  const run = logged(t, { logLevel: 'warn', limits: { outboxBytes: 65_536, connectionsPerAddress: 1 } });
  const address = await run.address();
  const slow = await connect(t, address, { paused: true });
  await t.throwsAsync(connect(t, address), { message: /503/ });
  t.deepEqual((await line(run, 'refused')).fields, {
    address: '127.0.0.1',
    status: 503,
    reason: 'Too many connections from this address',
  });
  slow.send('flood');
  const { fields, level } = await line(run, 'slow reader closed');
  t.is(level, 'warn');
  t.is(fields.socket, 1);
  t.true(fields.outbox_bytes > 65_536);
});

test('RUST_LOG overrides logLevel; without onLog the lines are printed', async (t) => {
  const env = { RUST_LOG: 'millrace::listener' };
  const told = logged(t, { logLevel: 'off' }, { env });
  await told.address();
  t.is(await end(told), 0);
  t.deepEqual(shortOf(told), ['info millrace::listener listening', 'info millrace::listener stopping']);

  const printed = logged(t, { print: true, logLevel: 'info' });
  const address = await printed.address();
  t.is(await end(printed), 0);
  t.regex(printed.err, new RegExp(`^\\S+Z  INFO millrace::listener: listening address=${address}$`, 'm'));
  t.deepEqual(shortOf(printed), []);

  const silent = logged(t, { print: true });
  await silent.address();
  t.is(await end(silent), 0);
  t.is(silent.err, '');
});

test('an invalid rule in RUST_LOG is reported and ignored', async (t) => {
  const run = logged(t, {}, { env: { RUST_LOG: 'millrace::worker=loud,millrace::gateway=info' } });
  await run.address();
  t.is(await end(run), 0);
  t.regex(run.err, /^millrace: RUST_LOG: "millrace::worker=loud" is ignored; the levels are off, error, .*\n$/);
  t.deepEqual(shortOf(run), ['info millrace::gateway started', 'info millrace::gateway stopped']);
});

test('an onLog that throws is reported once, and the server continues', async (t) => {
  const run = logged(t, { throws: true, logLevel: 'debug' });
  const client = await connect(t, await run.address());
  client.send('hello');
  t.is((await client.next()).data, 'hello');
  t.is(await end(run), 0);
  t.true(shortOf(run).length > 3);
  t.is(run.err.match(/onLog failed/g).length, 1);
  t.regex(run.err, /onLog broke\n +at /);
});

test('printed lines without a reader do not end the server', async (t) => {
  const run = logged(t, { print: true, logLevel: 'debug' });
  const address = await run.address();
  run.closeOutput();
  for (let i = 0; i < 3; i += 1) {
    const client = await connect(t, address);
    client.send('hello');
    t.is((await client.next()).data, 'hello');
  }
  t.is(await end(run), 0);
});

test('a flood of lines is bounded, and says how many were dropped', async (t) => {
  const run = logged(t, { logLevel: 'debug' });
  const address = await run.address();
  // no lines are taken meanwhile, so 1,024 are kept; each connection writes two
  const done = path.join(folderWith(t, {}), 'done');
  run.tell(`block ${done}`);
  await run.prints(/BLOCKED/);
  const busy = Array.from({ length: 8 }, async () => {
    for (let i = 0; i < 150; i += 1) {
      const client = await connect(undefined, address);
      client.destroy();
    }
  });
  await Promise.all(busy);
  writeFileSync(done, '');
  t.is(await end(run), 0);
  const dropped = linesOf(run).filter(({ target }) => target === 'millrace::log');
  const kept = linesOf(run).filter(({ target }) => target === 'millrace::connection');
  const sum = dropped.reduce((total, { fields }) => total + fields.dropped, 0);
  t.is(kept.length + sum, 2 * 8 * 150, 'every line was kept or counted');
  t.true(sum > 0, 'some were dropped');
});
