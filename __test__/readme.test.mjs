// The first example of README.md runs as printed and does what it says.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import test from 'ava';

import { until } from './support/deadline.mjs';
import { endWith, removeWith } from './support/teardown.mjs';
import { connect } from './support/ws-client.mjs';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');

/** The fenced blocks that begin with a comment naming their file, as [name, code]. */
function examples(markdown) {
  return [...markdown.matchAll(/^```(?:js|javascript|mjs)\n([\s\S]*?)^```/gm)]
    .map(([, code]) => [/^\/\/ ([\w.-]+\.m?js)/.exec(code)?.[1], code])
    .filter(([name]) => name);
}

test('the example of the README: two clients talk to each other', async (t) => {
  const files = examples(readFileSync(path.join(root, 'README.md'), 'utf8'));
  t.true(files.length >= 1, 'README.md has fenced examples that begin with "// <file name>"');
  const lines = files.reduce((sum, [, code]) => sum + code.trim().split('\n').length, 0);
  t.true(lines <= 40, `${lines} lines`);
  // Inside the repository, so that `millrace` resolves as it does for a user; beside nothing that is tracked.
  mkdirSync(path.join(root, 'target'), { recursive: true });
  const folder = removeWith(t, mkdtempSync(path.join(root, 'target', 'readme-')));
  mkdirSync(path.join(folder, 'node_modules'));
  symlinkSync(root, path.join(folder, 'node_modules', 'millrace'), 'junction');
  writeFileSync(path.join(folder, 'package.json'), '{"type": "module"}');
  for (const [name, code] of files)
    writeFileSync(
      path.join(folder, name),
      code.replaceAll(/\b(127\.0\.0\.1|localhost|0\.0\.0\.0)?:3000\b/g, '127.0.0.1:0'),
    );
  const [server] = files.find(([name]) => name.startsWith('server')) ?? files[0];
  const child = spawn(process.execPath, [server], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  endWith(t, child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk;
    });
  }
  const address = await until(
    () => /(127\.0\.0\.1:\d+)/.exec(output)?.[1],
    () => `an address in the output:\n${output}`,
    30_000,
  );
  const [one, two] = [await connect(t, address), await connect(t, address)];
  const greeting = 'hello from the first';
  one.send(greeting);
  // The example leaves the sender out: it is the other one that hears.
  const message = await two.text();
  t.true(message.includes(greeting));
});
