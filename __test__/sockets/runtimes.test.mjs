// Low-level sockets in each runtime, on the main thread and in workers, also during blocking calls.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

import { runtimePath } from '../../scripts/runtimes.mjs';
import { until, within } from '../support/deadline.mjs';
import { linuxTests } from '../support/platforms.mjs';
import { needingRuntime } from '../support/runtimes.mjs';
import { endWith } from '../support/teardown.mjs';

const MAIN = fileURLToPath(new URL('../support/sockets-main.mjs', import.meta.url));
const ARGUMENTS = { node: [], bun: ['run'], deno: ['run', '-A', '--quiet'] };

function started(runtime, scenario, ...given) {
  return spawn(runtimePath(runtime), [...ARGUMENTS[runtime], MAIN, scenario, ...given], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: path.dirname(MAIN),
  });
}

/** The output of a child as it arrives, and its exit code. */
function told(t, child) {
  const output = { text: '', problems: '' };
  child.stdout.on('data', (chunk) => {
    output.text += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output.problems += chunk;
  });
  return { output, exited: endWith(t, child) };
}

/** Runs a scenario; resolves with its exit code, what it said, and its problems. */
async function run(t, ...scenario) {
  const { output, exited } = told(t, started(...scenario));
  const code = await within(exited, () => `the end of ${scenario}: ${output.text}${output.problems}`);
  const said = output.text.split('\n').filter((line) => line !== '');
  return { code, said: said.map((line) => JSON.parse(line)), problems: output.problems };
}

/** Declares a test for each runtime that can do it. */
function inEach(title, body, runtimes = ['node', 'bun', 'deno']) {
  for (const runtime of runtimes) {
    linuxTests(needingRuntime(test.serial, runtime))(`${runtime}: ${title}`, (t) => body(t, runtime));
  }
}

inEach('sockets on the main thread', async (t, runtime) => {
  const { code, said, problems } = await run(t, runtime, 'all');
  t.is(code, 0, problems);
  const message = 'close() failed: Bad file descriptor';
  t.deepEqual(said, [
    {
      ...{ connected: 0, address: '127.0.0.1', sent: [7, 1], text: 'grüße', bytes: [255], isPlain: true, revents: 4 },
      ...{ nothing: null, end: '', datagram: { data: 'self', address: '127.0.0.1', port: true } },
      errors: [
        { name: 'InternalError', message, code: 'EBADF', errno: 9, syscall: 'close' },
        ...['TypeError', 'TypeError', 'TypeError'],
      ],
      text_of_error: 'Bad file descriptor',
      path: '/x',
    },
  ]);
});

inEach('a call that waits ends when another thread closes its descriptor', async (t, runtime) => {
  const { code, said, problems } = await run(t, runtime, 'close');
  t.is(code, 0, problems);
  t.deepEqual(said, [{ code: 'EBADF', message: 'accept() failed: Bad file descriptor' }]);
});

inEach('a process ends while a worker waits', async (t, runtime) => {
  const { code, said, problems } = await run(t, runtime, 'exit');
  t.is(code, 7, problems);
  t.deepEqual(said, ['exits']);
});

inEach('what waits goes on after a signal', async (t, runtime) => {
  const child = started(runtime, 'signals');
  const { output, exited } = told(t, child);
  const isWaiting = () => output.text.includes('waits');
  await until(isWaiting, () => `the child: ${output.text}${output.problems}`);
  // the kernel chooses the thread for a signal: with so many, some reach this one
  const timer = setInterval(() => child.kill('SIGUSR2'), 5);
  t.is(await within(exited, () => `the end: ${output.text}${output.problems}`), 0);
  clearInterval(timer);
  const { events, revents, took } = JSON.parse(output.text.trim().split('\n').at(-1));
  t.deepEqual([events, revents], [[], 0]);
  t.true(took >= 799 && took < 20_000, String(took));
});

/** What Deno leaks for each worker that has loaded any addon (docs/runtimes.md), and sometimes for one more. */
const LEFT = { node: 0, bun: 0, deno: 11 * 2 };

inEach('workers that come and go leave no descriptor', async (t, runtime) => {
  const { code, said, problems } = await run(t, runtime, 'churn', String(LEFT[runtime]));
  t.is(code, 0, problems);
  t.true(said[0].left <= LEFT[runtime], JSON.stringify(said));
});

// Deno's `terminate` does not end a running thread (docs/runtimes.md)
inEach(
  'a worker that waits can be ended, and what it opened is closed',
  async (t, runtime) => {
    const { code, said, problems } = await run(t, runtime, 'terminate');
    t.is(code, 0, problems);
    t.deepEqual(
      said.map(({ work }) => work),
      ['accept', 'recv', 'poll', 'epoll_wait', 'send', 'connect'],
    );
    for (const { work, gone } of said) t.true(gone.length > 0 && gone.every((reason) => reason === 'EBADF'), work);
  },
  ['node', 'bun'],
);
