// `millrace serve`: a real server in a child process, its signals, and new code without a restart.
import { cpSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

import { folderWith, Millrace, millrace, PACKAGE, RUNTIMES } from '../support/cli.mjs';
import { until } from '../support/deadline.mjs';
import { posixTests, signalTests } from '../support/platforms.mjs';
import { connect } from '../support/ws-client.mjs';

const WORKER = `
import { send } from '${PACKAGE}';
import { version } from './lib/version.mjs';
export function handleTextMessage(text, id) { send(id, version + ' ' + text); }
export function handleClose(id, token, code) { console.log('handleClose ' + code); }
export function handleStop() { console.log('handleStop'); }
`;

const files = () => ({ 'worker.mjs': WORKER, 'lib/version.mjs': "export const version = 'one';\n" });
const prefixed = (folder, named) =>
  Object.fromEntries(Object.entries(named).map(([name, text]) => [`${folder}/${name}`, text]));
const LOCAL = ['--bind', '127.0.0.1:0', '--threads', '2'];

/** Writes a file so that nobody sees it empty. */
function replaceFile(file, text) {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

async function answer(client, text) {
  client.send(text);
  return (await client.next()).data;
}

for (const runtime of RUNTIMES) {
  test(`${runtime}: serves, and replaces its workers when a source changes`, async (t) => {
    const cwd = folderWith(t, files());
    const run = new Millrace(t, ['serve', 'worker.mjs', ...LOCAL, '--watch'], { runtime, cwd });
    const address = await run.address();
    const first = await connect(t, address);
    t.is(await answer(first, 'hello'), 'one hello');

    writeFileSync(path.join(cwd, 'lib/version.mjs'), "export const version = 'two';\n");
    await run.prints(/lib[/\\]version\.mjs changed: workers replaced/);
    await first.closed();
    t.is(first.closeFrame.code, 1012);
    await run.prints(/handleClose 1012/);
    await run.prints(/handleStop/);
    const second = await connect(t, address);
    t.is(await answer(second, 'hello'), 'two hello');
  });

  test(`${runtime}: code that does not become ready is given up when it is changed again`, async (t) => {
    const cwd = folderWith(t, files());
    const run = new Millrace(t, ['serve', 'worker.mjs', ...LOCAL, '--watch'], { runtime, cwd });
    const client = await connect(t, await run.address());
    const begun = path.join(cwd, 'begun');
    const loops = `import { writeFileSync } from 'node:fs';\nwriteFileSync(${JSON.stringify(begun)}, '');\nfor (;;);\nexport const version = 0;\n`;
    replaceFile(path.join(cwd, 'lib/version.mjs'), loops);
    await until(() => existsSync(begun), 'the new code to be run');
    t.is(await answer(client, 'still'), 'one still');
    replaceFile(path.join(cwd, 'lib/version.mjs'), "export const version = 'two';\n");
    await run.prints(/^lib[/\\]version\.mjs changed: workers replaced/m);
    t.is(await answer(await connect(t, await run.address()), 'hello'), 'two hello');
    t.is(run.err, '');
  });

  signalTests(test)(`${runtime}: drains on a signal`, async (t) => {
    const cwd = folderWith(t, files());
    const run = new Millrace(t, ['serve', 'worker.mjs', ...LOCAL, '--watch'], { runtime, cwd });
    const client = await connect(t, await run.address());
    t.is(await answer(client, 'hello'), 'one hello');
    run.signal('SIGTERM');
    await client.closed();
    t.is(client.closeFrame.code, 1001);
    t.is(await run.exit(), 0);
    t.regex(run.out, /Stopping\n[\s\S]*handleClose 1001/);
  });

  signalTests(test)(`${runtime}: drains also when nobody reads what it prints`, async (t) => {
    const cwd = folderWith(t, files());
    const run = new Millrace(t, ['serve', 'worker.mjs', ...LOCAL, '--watch'], { runtime, cwd });
    const address = await run.address();
    const first = await connect(t, address);
    run.closeOutput();
    writeFileSync(path.join(cwd, 'lib/version.mjs'), "export const version = 'two';\n");
    await first.closed();
    t.is(first.closeFrame.code, 1012);
    const second = await connect(t, address);
    t.is(await answer(second, 'hello'), 'two hello');
    run.signal('SIGTERM');
    await second.closed();
    t.is(second.closeFrame.code, 1001);
    t.is(await run.exit(), 0);
  });
}

/** On Windows a folder that is watched cannot be made again. */
const replacing = posixTests(test);

for (const runtime of RUNTIMES) {
  replacing(`${runtime}: folders that are deleted and made again are watched again`, async (t) => {
    const cwd = folderWith(t, { ...prefixed('app', files()), ...prefixed('next', files()) });
    // one worker: a second one may be replaced late, and then has what was written meanwhile
    const args = ['serve', 'app/worker.mjs', '--bind', '127.0.0.1:0', '--threads', '1', '--watch'];
    const run = new Millrace(t, args, { runtime, cwd });
    const address = await run.address();
    const says = (version) =>
      until(
        async () => {
          // its worker may be replaced meanwhile
          const client = await connect(undefined, address).catch(() => undefined);
          const said = client && (await answer(client, 'hello').catch(() => undefined));
          client?.destroy();
          return said === `${version} hello`;
        },
        () => `version ${version}\n${run.out}${run.err}`,
      );
    const write = (file, version) => writeFileSync(path.join(cwd, file), `export const version = '${version}';\n`);
    t.true(await says('one'));
    const library = path.join(cwd, 'app/lib');
    rmSync(library, { recursive: true });
    mkdirSync(library);
    write('app/lib/version.mjs', 'two');
    t.true(await says('two'));
    write('app/lib/version.mjs', 'three');
    t.true(await says('three'));

    write('next/lib/version.mjs', 'four');
    rmSync(path.join(cwd, 'app'), { recursive: true });
    cpSync(path.join(cwd, 'next'), path.join(cwd, 'app'), { recursive: true });
    t.true(await says('four'));
    write('app/lib/version.mjs', 'five');
    t.true(await says('five'));
  });
}

test('links that are made meanwhile are not followed', async (t) => {
  const cwd = folderWith(t, files());
  const elsewhere = folderWith(t, { 'other.mjs': 'export {};\n' });
  const run = new Millrace(t, ['serve', 'worker.mjs', ...LOCAL, '--watch'], { cwd });
  await run.address();
  symlinkSync(elsewhere, path.join(cwd, 'link'), 'junction');
  // told in the order in which it happened
  writeFileSync(path.join(cwd, 'lib/version.mjs'), "export const version = 'two';\n");
  await run.prints(/version\.mjs changed/);
  writeFileSync(path.join(elsewhere, 'other.mjs'), 'export {}; // changed\n');
  writeFileSync(path.join(cwd, 'worker.mjs'), `${WORKER}// changed\n`);
  await run.prints(/worker\.mjs changed/);
  t.notRegex(run.out, /other/);
});

replacing('a folder that another one takes the place of is watched', async (t) => {
  const cwd = folderWith(t, { ...prefixed('app', files()), ...prefixed('next', files()) });
  const run = new Millrace(t, ['serve', 'app/worker.mjs', ...LOCAL, '--watch'], { cwd });
  const client = await connect(t, await run.address());
  t.is(await answer(client, 'hello'), 'one hello');
  writeFileSync(path.join(cwd, 'next/lib/version.mjs'), "export const version = 'two';\n");
  renameSync(path.join(cwd, 'app'), path.join(cwd, 'before'));
  renameSync(path.join(cwd, 'next'), path.join(cwd, 'app'));
  await client.closed();
  await until(async () => {
    const said = await connect(undefined, await run.address())
      .then((other) => answer(other, 'hello').finally(() => other.destroy()))
      .catch(() => undefined);
    return said === 'two hello';
  }, 'the code of the new folder');
});

signalTests(test)('a stop that fails is told, with exit code 1', async (t) => {
  const fault = `
const { Supervisor } = require(${JSON.stringify(path.join(path.dirname(fileURLToPath(PACKAGE)), 'gateway', 'supervisor.js'))});
Supervisor.prototype.finish = () => Promise.reject(new Error('broken on purpose'));
`;
  const cwd = folderWith(t, { ...files(), 'fault.cjs': fault });
  const env = { NODE_OPTIONS: `--require "${path.join(cwd, 'fault.cjs')}"` };
  const run = new Millrace(t, ['serve', 'worker.mjs', ...LOCAL, '--watch'], { cwd, env });
  await run.address();
  run.signal('SIGTERM');
  t.is(await run.exit(), 1);
  t.is(run.err, 'millrace: broken on purpose\n');
});

signalTests(test)('a signal while it starts stops it once it has started', async (t) => {
  const slow = `
import { existsSync } from 'node:fs';
export async function handleStart() {
  console.log('starting');
  while (!existsSync('go')) await new Promise((resolve) => setTimeout(resolve, 5));
}
export function handleStop() { console.log('handleStop'); }
`;
  const cwd = folderWith(t, { 'worker.mjs': slow });
  const args = ['serve', 'worker.mjs', '--bind', '127.0.0.1:0', '--threads', '1'];
  const run = new Millrace(t, args, { cwd });
  await run.prints(/starting/);
  run.signal('SIGTERM');
  await run.prints(/Stopping/);
  writeFileSync(path.join(cwd, 'go'), '');
  t.is(await run.exit(), 0);
  t.regex(run.out, /handleStop/);
  t.notRegex(run.out, /Listening/, 'nobody takes it for up');

  rmSync(path.join(cwd, 'go'));
  const hasty = new Millrace(t, args, { cwd });
  await hasty.prints(/starting/);
  hasty.signal('SIGTERM');
  await hasty.prints(/Stopping/);
  hasty.signal('SIGTERM');
  t.is(await hasty.exit(), 143, 'the second one does not wait for it');
});

test('code that cannot be loaded changes nothing, and the next change is tried again', async (t) => {
  const cwd = folderWith(t, files());
  const run = new Millrace(t, ['serve', 'worker.mjs', ...LOCAL, '--watch'], { cwd });
  const client = await connect(t, await run.address());
  t.is(await answer(client, 'a'), 'one a');
  writeFileSync(path.join(cwd, 'lib/version.mjs'), 'export const version = ;\n');
  await run.prints(/the workers stay as they are/, 'err');
  t.regex(run.err, /a worker could not be started/);
  t.is(await answer(client, 'b'), 'one b');
  writeFileSync(path.join(cwd, 'lib/version.mjs'), "export const version = 'three';\n");
  await run.prints(/workers replaced/);
  t.is(await answer(await connect(t, await run.address()), 'c'), 'three c');
});

test('a new folder is watched too; node_modules and other files are not', async (t) => {
  const cwd = folderWith(t, { ...files(), 'node_modules/x/index.js': '', 'notes.txt': '' });
  const run = new Millrace(t, ['serve', 'worker.mjs', ...LOCAL, '--watch'], { cwd });
  await run.address();
  writeFileSync(path.join(cwd, 'node_modules/x/index.js'), '// changed\n');
  writeFileSync(path.join(cwd, 'notes.txt'), 'changed');
  mkdirSync(path.join(cwd, 'later'));
  // again and again: what is written before the new folder is watched is not seen
  await until(async () => {
    writeFileSync(path.join(cwd, 'later/one.mjs'), 'export {};\n');
    return /later[/\\]one\.mjs changed/.test(run.out);
  }, 'the change in the new folder');
  t.notRegex(run.out, /node_modules|notes/);
});

signalTests(test)('a second signal ends at once, with the exit code that shells know', async (t) => {
  const cwd = folderWith(t, {
    'worker.mjs': 'export async function handleTextMessage() { console.log("busy"); await new Promise(() => {}); }\n',
  });
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ]) {
    const run = new Millrace(t, ['serve', 'worker.mjs', ...LOCAL], { cwd });
    const client = await connect(t, await run.address());
    client.send('a handler that never ends holds the stop');
    await run.prints(/busy/);
    run.signal(signal);
    await run.prints(/Stopping/);
    run.signal(signal);
    t.is(await run.exit(), code);
  }
});

test('if it cannot start, it prints one line and ends with exit code 1', async (t) => {
  const cwd = folderWith(t, { ...files(), 'broken.mjs': "throw new Error('broken on purpose');\n" });
  const run = new Millrace(t, ['serve', 'worker.mjs', ...LOCAL], { cwd });
  const address = await run.address();
  const taken = await millrace(t, ['serve', 'worker.mjs', '--bind', address], { cwd });
  t.is(taken.code, 1);
  t.regex(taken.err, /^millrace: [^\n]*ERR_MILLRACE_ADDRESS_IN_USE[^\n]*\n$/);
  const broken = await millrace(t, ['serve', 'broken.mjs', ...LOCAL], { cwd });
  t.is(broken.code, 1);
  t.regex(broken.err, /^millrace: a worker could not be started: broken on purpose/);
  t.regex(broken.err, /broken\.mjs:1:/, 'where it was thrown');
});

test('several addresses; only origins of the same host by default', async (t) => {
  const cwd = folderWith(t, files());
  const origin = 'https://elsewhere.example';
  const strict = new Millrace(t, ['serve', 'worker.mjs', ...LOCAL, '--bind', '127.0.0.1:0'], { cwd });
  await strict.prints(/Listening[\s\S]*Listening/);
  const address = await strict.address();
  await t.throwsAsync(connect(t, address, { headers: { Origin: origin } }), { message: /403/ });
  const open = new Millrace(t, ['serve', 'worker.mjs', ...LOCAL, '--origin', origin], { cwd });
  t.is(await answer(await connect(t, await open.address(), { headers: { Origin: origin } }), 'x'), 'one x');
});

test('RUST_LOG shows the log on the standard error output, without colours in a pipe', async (t) => {
  const cwd = folderWith(t, files());
  const env = { RUST_LOG: 'millrace::connection=debug,info' };
  const run = new Millrace(t, ['serve', 'worker.mjs', ...LOCAL], { cwd, env });
  const client = await connect(t, await run.address());
  client.close(1000);
  const [, shown] = await run.prints(/^\S+Z DEBUG millrace::connection: closed (.*)\n/m, 'err');
  t.regex(shown, /socket=1 code=1000 by_peer=true$/);
  t.regex(run.err, /INFO millrace::listener: listening address=127\.0\.0\.1:\d+\n/);
  t.false(run.err.includes('\x1b'));
});
