// `millrace bench` against real servers: its counts, its output, and how it ends.
import { once } from 'node:events';
import net from 'node:net';
import test from 'ava';
import { WebSocketServer } from 'ws';

import { folderWith, Millrace, millrace, PACKAGE, RUNTIMES } from '../support/cli.mjs';
import { until } from '../support/deadline.mjs';
import { signalTests } from '../support/platforms.mjs';

const worker = (answer) => `
import { send } from '${PACKAGE}';
export function handleTextMessage(text, id) { ${answer} }
`;

/** The address of a server whose handler does this. */
async function serverOf(t, answer) {
  const cwd = folderWith(t, { 'worker.mjs': worker(answer) });
  const run = new Millrace(t, ['serve', 'worker.mjs', '--bind', '127.0.0.1:0', '--threads', '2'], { cwd });
  return `ws://${await run.address()}/`;
}

const FIVE = ['--connections', '5'];

/** A short run; a longer one where a busy machine left no time for what is expected. */
async function measured(t, args, isEnough, options) {
  let run;
  for (const seconds of ['1', '10', '40']) {
    run = await millrace(t, ['bench', ...args, ...FIVE, '--seconds', seconds], options);
    if (isEnough(run)) break;
  }
  return run;
}

const something = ({ code }) => code === 0;

for (const runtime of RUNTIMES) {
  test(`${runtime}: echo and connect modes`, async (t) => {
    const url = await serverOf(t, 'send(id, text);');
    for (const [mode, unit] of [
      ['echo', 'round trips'],
      ['connect', 'handshakes'],
    ]) {
      const { code, out, err } = await measured(t, [url, '--mode', mode], something, { runtime });
      t.is(code, 0, err);
      t.regex(out, new RegExp(`^[\\d,]+ ${unit} per second \\([\\d,]+ ${unit} in [\\d.]+ s\\)\n`));
      for (const percent of ['50', '90', '99', '99.9'])
        t.regex(out, new RegExp(`^ +${percent} % within +[\\d.]+ ms$`, 'm'));
      t.regex(err, new RegExp(`^${mode}: 5 connections to ${url}`));
      t.false(out.includes('\x1b'), 'no colours in a pipe');
    }
  });
}

test('the result as JSON, with texts of the size that was asked for', async (t) => {
  const url = await serverOf(t, 'if (new TextEncoder().encode(text).length === 70_000) send(id, text);');
  const { code, out } = await measured(t, [url, '--size', '70000', '--json'], something);
  t.is(code, 0);
  const result = JSON.parse(out);
  t.like(result, { url, mode: 'echo', connections: 5, size: 70_000, otherMessages: 0, failures: {} });
  t.true(result.count > 0);
  const { p50, p90, p99, max } = result.latencyMs;
  t.true(0 < p50 && p50 <= p90 && p90 <= p99 && p99 <= max);
  t.true(Math.abs(result.perSecond - result.count / result.seconds) / result.perSecond < 0.01);
});

for (const runtime of RUNTIMES) {
  test(`${runtime}: texts are compressed if that is asked for, and the server has to agree`, async (t) => {
    const wss = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: { threshold: 0 } });
    t.teardown(() => wss.close());
    await once(wss, 'listening');
    let received = 0;
    wss.on('connection', (client, { socket }) => {
      client.on('message', (data) => client.send(data.toString()));
      client.on('close', () => {
        received += socket.bytesRead;
      });
    });
    const url = `ws://127.0.0.1:${wss.address().port}/`;
    const args = [url, '--size', '50000', '--compression', '--json'];
    const { code, out, err } = await measured(t, args, something, { runtime });
    t.is(code, 0, err);
    const { compression, count } = JSON.parse(out);
    t.true(compression);
    t.true(count > 0);
    await until(() => wss.clients.size === 0, 'the connections to end');
    t.true(received < count * 5000, `${received} bytes for ${count} texts of 50,000`);
  });
}

test('a server that does not agree to compression is reported', async (t) => {
  const url = await serverOf(t, 'send(id, text);');
  const { code, err } = await millrace(t, ['bench', url, '--compression', ...FIVE, '--seconds', '1']);
  t.is(code, 1);
  t.regex(err, /millrace: bench: the server does not agree to compression/);
});

test('progress is printed every second', async (t) => {
  const url = await serverOf(t, 'send(id, text);');
  const run = new Millrace(t, ['bench', url, '--seconds', '3600', '--connections', '1']);
  const told = /(\d+) of 3600 s: [\d,]+ round trips, 99 % within /g;
  await until(
    () => new Set([...run.err.matchAll(told)].map(([, second]) => second)).size >= 2,
    () => `two lines of progress\n${run.err}`,
  );
  t.pass();
});

test('a server that does not echo is reported as such', async (t) => {
  const silent = await millrace(t, ['bench', await serverOf(t, ''), ...FIVE, '--seconds', '1']);
  t.is(silent.code, 1);
  t.regex(silent.err, /nothing came back: does the server send texts back\?/);
  const all = /5 messages were not what was sent/;
  const url = await serverOf(t, 'send(id, "something else");');
  const other = await measured(t, [url], ({ err }) => all.test(err));
  t.is(other.code, 1);
  t.regex(other.err, all);
});

test('an unreachable server is reported in one line', async (t) => {
  const listener = net.createServer();
  await new Promise((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address();
  await new Promise((resolve) => listener.close(resolve));
  const { code, err } = await millrace(t, ['bench', `ws://127.0.0.1:${port}`, ...FIVE, '--seconds', '1']);
  t.is(code, 1);
  t.regex(err, /\nmillrace: bench: [^\n]*ECONNREFUSED[^\n]*\n$/);
});

test('a server without WebSocket is reported in one line', async (t) => {
  const listener = net.createServer((socket) => {
    socket.on('error', () => {});
    socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n');
  });
  await new Promise((resolve) => listener.listen(0, '127.0.0.1', resolve));
  t.teardown(() => listener.close());
  const url = `ws://127.0.0.1:${listener.address().port}`;
  const { code, err } = await millrace(t, ['bench', url, ...FIVE, '--seconds', '1']);
  t.is(code, 1);
  t.regex(err, /\nmillrace: bench: the server answered HTTP\/1\.1 404 Not Found\n$/);
});

test('connections that the server closes are counted, and are a failure', async (t) => {
  const url = await serverOf(t, 'throw new Error("on purpose");');
  const all = /closed by the server with 1011 \(5 times\)/;
  const { code, err } = await measured(t, [url], (run) => all.test(run.err));
  t.is(code, 1);
  t.regex(err, all);
});

signalTests(test)('SIGINT ends it early, with what was measured', async (t) => {
  const url = await serverOf(t, 'send(id, text);');
  const run = new Millrace(t, ['bench', url, '--seconds', '3600', '--connections', '2']);
  await run.prints(/of 3600 s: [1-9]/, 'err');
  run.signal('SIGINT');
  t.is(await run.exit(), 130);
  t.regex(run.out, /round trips per second/);
});

signalTests(test)('SIGINT ends it while a handshake is not answered', async (t) => {
  const listener = net.createServer((socket) => socket.on('error', () => {}));
  await new Promise((resolve) => listener.listen(0, '127.0.0.1', resolve));
  t.teardown(() => listener.close());
  const run = new Millrace(t, ['bench', `ws://127.0.0.1:${listener.address().port}`, ...FIVE, '--seconds', '1']);
  const [socket] = await once(listener, 'connection');
  await once(socket, 'data');
  run.signal('SIGINT');
  t.is(await run.exit(), 130);
  t.regex(run.err, /interrupted before anything came back\n$/);
  t.is(run.out, '');
});
