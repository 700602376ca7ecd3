// What README.md says to do first: its commands are run and its programs started as they are printed, in a folder outside the
// repository. Replaced are only the way to a clone, which takes the network and minutes, and the port, which may be taken.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'ava';

import { runtimePath } from '../../scripts/runtimes.mjs';
import { Millrace } from '../support/cli.mjs';
import { blocksOf, ROOT, readPage } from '../support/markdown.mjs';
import { posixTests } from '../support/platforms.mjs';
import { removeWith } from '../support/teardown.mjs';
import { connect } from '../support/ws-client.mjs';

const HEADING = '## A first server';

/** The blocks of the section, in order. */
const section = async () => {
  const text = await readPage('README.md');
  const start = text.slice(0, text.indexOf(HEADING)).split('\n').length;
  const end =
    start +
    text
      .slice(text.indexOf(HEADING) + HEADING.length)
      .split(/^## /m)[0]
      .split('\n').length;
  return (await blocksOf('README.md')).filter(({ line }) => line > start && line < end);
};

/** The runtimes by the names that the README uses, as on a machine that has them. */
function programs(folder) {
  const bin = path.join(folder, 'bin');
  mkdirSync(bin);
  for (const name of ['node', 'bun', 'deno']) symlinkSync(runtimePath(name), path.join(bin, name));
  return { ...process.env, npm_config_offline: 'true', PATH: `${bin}${path.delimiter}${process.env.PATH}` };
}

/** Runs lines of a shell, in a folder. */
function shell(cwd, env, lines) {
  const { status, stdout, stderr } = spawnSync('sh', ['-ec', lines.join('\n')], { cwd, env, encoding: 'utf8' });
  return { status, output: `${stdout}${stderr}` };
}

/** Runs a benchmark, again and longer if nothing has come back on a busy machine. */
function measure(cwd, env, command) {
  let measured;
  for (const seconds of [1, 10, 40]) {
    measured = shell(cwd, env, [`${command} --seconds ${seconds}`]);
    if (!measured.output.includes('nothing came back')) break;
  }
  return measured;
}

/** Follows the README up to the folder with the package and the programs. */
async function follow(t) {
  const folder = removeWith(t, mkdtempSync(path.join(os.tmpdir(), 'millrace-readme-')));
  const env = programs(folder);
  const blocks = await section();
  const [published, built] = blocks
    .filter(({ language }) => language === 'sh')
    .map(({ code }) => code.trim().split('\n'));
  t.deepEqual(published, ['npm install millrace'], 'which works once it is on npm');
  const [build, ...rest] = built;
  t.is(build.split(' #')[0].trim(), 'npm run build', 'which the test command did');
  symlinkSync(ROOT, path.join(folder, 'millrace'), 'junction');
  const { status, output } = shell(folder, env, ['cd millrace', ...rest]);
  t.is(status, 0, output);
  const own = path.join(folder, 'my-server');
  t.true(existsSync(path.join(own, 'node_modules', 'millrace', 'package.json')), output);
  for (const { file, code } of blocks) {
    if (file !== undefined) writeFileSync(path.join(own, file), code.replaceAll("'localhost:3000'", "'127.0.0.1:0'"));
  }
  return { own, env, blocks };
}

/** Each way that a command is printed in: `node a.mjs    # or: bun a.mjs, deno run -A a.mjs`. */
const commandsOf = (code) => {
  const [first, others = ''] = code.trim().split(/\s+# or: /);
  return [first, ...others.split(', ')].filter((command) => command !== '');
};

/** Starts a server by a command of the README; two clients talk to each other; then Ctrl-C. */
async function tryOut(t, { own, env }, command) {
  const [, runtime, script] = /^(node|bun|deno)(?: run -A)? (\S+)$/.exec(command);
  const run = new Millrace(t, [], { runtime, cwd: own, env, program: script });
  const address = await run.address();
  const [one, two] = [await connect(t, address), await connect(t, address)];
  one.send('hello');
  // the sender is left out: it is the other one that hears
  t.regex(await two.text(), /^\d+: hello$/, command);
  run.signal('SIGINT');
  t.is(await run.exit(), 0, `${command}\n${run.err}`);
  t.is(run.err, '', command);
}

test('it begins with one file of ten lines', async (t) => {
  const text = await readPage('README.md');
  const [first] = (await blocksOf('README.md')).filter(({ file }) => file !== undefined);
  t.is(first.file, 'server.mjs');
  t.true(first.code.trim().split('\n').length <= 11, 'ten lines below its name');
  t.true(text.indexOf(HEADING) < text.indexOf('## Numbers'), 'before any figure');
});

posixTests(test)('its commands and programs do what it says', async (t) => {
  const readme = await follow(t);
  const [, , ...more] = readme.blocks.filter(({ language }) => language === 'sh').map(({ code }) => code);
  const commands = more.flatMap(commandsOf);
  t.deepEqual(commands, ['node server.mjs', 'bun server.mjs', 'deno run -A server.mjs', 'node main.mjs']);
  for (const command of commands) await tryOut(t, readme, command);
});

posixTests(test)('npx millrace does what it says', async (t) => {
  const { own, env } = await follow(t);
  const text = await readPage('README.md');
  const named = [...text.matchAll(/`(npx millrace [^`]+)`/g)].map(([, command]) => command);
  const [serve, init] = ["npx millrace serve worker.mjs --origin '*'", 'npx millrace init my-project'];
  const bench = 'npx millrace bench ws://localhost:3000';
  for (const command of [serve, init, bench]) t.true(named.includes(command), command);
  const { status, output } = shell(own, env, [init]);
  t.is(status, 0, output);
  t.true(existsSync(path.join(own, 'my-project', 'server.js')));
  // the rest of the line as its program gets it; npx is what ends, not what it runs
  const program = path.join(own, 'node_modules', '.bin', 'millrace');
  const args = [
    ...serve
      .split(' ')
      .slice(2)
      .map((word) => word.replaceAll("'", '')),
    '--bind',
    '127.0.0.1:0',
  ];
  const run = new Millrace(t, args, { cwd: own, env, program });
  const address = await run.address();
  const [one, two] = [await connect(t, address), await connect(t, address)];
  one.send('hello');
  t.regex(await two.text(), /^\d+: hello$/);
  // the chat does not send texts back: the other mode, which any server can be measured in
  const measured = measure(own, env, `${bench.replace('localhost:3000', address)} --mode connect`);
  t.is(measured.status, 0, measured.output);
  t.regex(measured.output, /^[1-9][\d,]* handshakes per second/m);
  run.signal('SIGINT');
  t.is(await run.exit(), 0, run.err);
});

posixTests(test)('npx millrace bench measures a server that sends each text back', async (t) => {
  const { own, env } = await follow(t);
  writeFileSync(
    path.join(own, 'echo.mjs'),
    "import { send } from 'millrace';\nexport const handleTextMessage = (text, socketId) => void send(socketId, text);\n",
  );
  const program = path.join(own, 'node_modules', '.bin', 'millrace');
  const run = new Millrace(t, ['serve', 'echo.mjs', '--bind', '127.0.0.1:0'], { cwd: own, env, program });
  const { status, output } = measure(own, env, `npx millrace bench ws://${await run.address()}`);
  t.is(status, 0, output);
  t.regex(output, /^[1-9][\d,]* round trips per second/m);
  run.signal('SIGINT');
  t.is(await run.exit(), 0, run.err);
});

test('the script of the command that is left out is there', (t) => {
  const { scripts } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
  t.is(typeof scripts.build, 'string');
});
