// Missing optional tools do not fail the tests: hides each tool, and runs tests without it.
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'ava';

import { TOOLS, toolPath, whatIsMissing } from '../../scripts/optional-tools.mjs';
import { ROOT, tool } from '../../scripts/process.mjs';
import { SkipFile } from '../../scripts/skips.mjs';
import { posixTests } from '../support/platforms.mjs';
import { machineWithout } from '../support/shims.mjs';
import { removeWith } from '../support/teardown.mjs';

const NAMES = Object.keys(TOOLS);
const onPosix = posixTests(test);
const emptyFolder = (t) => removeWith(t, mkdtempSync(path.join(tmpdir(), 'millrace-machine-')));

/** Gone with it: what a program says that is not there. */
const WITH = {
  'redis-server': ['redis-server of 7.0 or newer', 'redis-server of 7.0'],
  'redis-server of 7.0 or newer': ['redis-server of 7.0'],
  'nats-server': ['nats-server of 2.9.20 or older'],
};

for (const name of NAMES) {
  onPosix(`the look-up on a machine without ${name} says so, and finds everything else`, (t) => {
    const env = machineWithout([name], emptyFolder(t), { pretended: true });
    const missing = NAMES.filter((other) => toolPath(other, env) === undefined);
    t.deepEqual(missing, [name, ...(WITH[name] ?? [])]);
    const { called = name, debian, get } = TOOLS[name];
    const reason = whatIsMissing([name], env);
    t.true(reason.startsWith(`no ${called}: `), reason);
    for (const where of [debian, get]) t.true(where === undefined || reason.includes(where), reason);
  });
}

onPosix('the look-up on a machine that has everything finds everything', (t) => {
  const env = machineWithout([], emptyFolder(t), { pretended: true });
  t.is(whatIsMissing(NAMES, env), undefined);
  t.is(toolPath('nginx', env), path.join(env.PATH, 'nginx'));
});

onPosix('a program that is not there although a variable names it is an error', (t) => {
  const env = machineWithout([], emptyFolder(t), { pretended: true });
  const named = { ...env, MILLRACE_CHROMIUM: path.join(env.PATH, 'nobody') };
  t.throws(() => toolPath('chromium', named), { message: /^MILLRACE_CHROMIUM: .*nobody does not run$/ });
  t.is(toolPath('chromium', { ...env, MILLRACE_CHROMIUM: path.join(env.PATH, 'nginx') }), path.join(env.PATH, 'nginx'));
});

/** Runs a script to its end. */
function run(env, [program, ...args]) {
  return new Promise((resolve) => {
    execFile(program, args, { cwd: ROOT, env, maxBuffer: 2 ** 24 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : error.code, output: stdout + stderr });
    });
  });
}

/** Runs a file of tests; `skips` is what `npm test` would list. */
async function runTests(t, env, ...args) {
  const file = new SkipFile();
  t.teardown(() => file.remove());
  return { ...(await run({ ...env, ...file.environment }, [...tool('ava'), ...args])), skips: file.read() };
}

onPosix("with Python and redis-server, but without Python's redis, tests are skipped and say why", async (t) => {
  const env = machineWithout(['python3 with redis'], emptyFolder(t));
  const reason = "no python3 with redis: install Debian's python3-redis, or pip install redis";

  const where = 'redis-publisher.test.mjs';
  const publisher = await runTests(t, env, `__test__/examples/${where}`);
  t.is(publisher.code, 0, publisher.output);
  t.true(publisher.output.includes(`- [skip] publish.py publishes for ever (${reason})`), publisher.output);
  t.regex(publisher.output, /1 test passed\n\s*1 test skipped/);
  t.deepEqual(publisher.skips, [{ where, reason }]);

  const clients = await runTests(t, env, '__test__/resp/clients.test.mjs', '--match', "*Python's redis*");
  t.is(clients.code, 0, clients.output);
  t.true(clients.output.includes(reason), clients.output);
});

onPosix('where nothing may be skipped the same tests fail', async (t) => {
  const env = machineWithout(['openssl'], emptyFolder(t));
  const file = '__test__/tls/names.test.mjs';
  const lax = await runTests(t, env, file);
  t.is(lax.code, 0, lax.output);
  const strict = await runTests(t, { ...env, MILLRACE_REQUIRE_ALL: '1' }, file);
  t.is(strict.code, 1, strict.output);
  t.true(strict.output.includes("no openssl: install Debian's openssl"), strict.output);
  t.deepEqual(strict.skips, []);
  t.true(lax.skips.length > 0);
});

onPosix('npm test lists at its end what was skipped, and leaves nothing behind', async (t) => {
  const folder = emptyFolder(t);
  const env = { ...machineWithout(['actionlint', 'cargo-deny', 'valgrind'], folder), TMPDIR: folder };
  const steps = [process.execPath, 'scripts/test.mjs', 'instructions', 'workflows', 'deny'];
  const lax = await run(env, steps);
  t.is(lax.code, 0, lax.output);
  const list = lax.output.slice(lax.output.indexOf('\nSkipped:\n'));
  for (const [name, step] of [
    ['actionlint: go install ', 'workflows'],
    ['cargo-deny: cargo install ', 'deny'],
    ["valgrind: install Debian's valgrind", process.platform === 'linux' ? 'instructions' : ''],
  ]) {
    if (step !== '') t.regex(list, new RegExp(`\\n {2}no ${name}.*\\n {4}step ${step}\\n`));
  }
  const strict = await run({ ...env, MILLRACE_REQUIRE_ALL: '1' }, steps);
  t.is(strict.code, 1, strict.output);
  if (process.platform === 'linux') t.true(strict.output.endsWith("\nno valgrind: install Debian's valgrind\n"));
  t.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('millrace-')),
    [],
  );
});
