// What the hosted workflows, .ci/run and CONTRIBUTING.md must agree on.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import test from 'ava';

import { TOOLS } from './optional-tools.mjs';
import { ROOT } from './process.mjs';

for (const [what, program, workflow] of [
  ['actionlint', /rhysd\/actionlint\/cmd\/actionlint@(\S+?)[\s,]/g, 'ci'],
  ['a current nats-server', /nats-io\/nats-server\/v2@(\S+?)[\s,]/g, 'nightly'],
]) {
  test(`everything that installs ${what} installs one version`, (t) => {
    const files = ['.ci/run', `.github/workflows/${workflow}.yml`, 'scripts/optional-tools.mjs', 'CONTRIBUTING.md'];
    const versions = files.flatMap((file) => {
      const found = [...readFileSync(path.join(ROOT, file), 'utf8').matchAll(program)].map(([, version]) => version);
      t.true(found.length > 0, file);
      return found;
    });
    t.is(new Set(versions).size, 1, versions.join(', '));
    t.regex(versions[0], /^v\d+\.\d+\.\d+$/);
  });
}

test('every job of the hosted workflows has a time limit', (t) => {
  const folder = path.join(ROOT, '.github/workflows');
  for (const file of readdirSync(folder)) {
    const count = (what) => readFileSync(path.join(folder, file), 'utf8').split(what).length - 1;
    t.is(count('timeout-minutes:'), count('runs-on:'), file);
  }
});

/** Programs that every Debian has. */
const ESSENTIAL = ['coreutils', 'tar', 'util-linux'];

test('.ci/run installs the Debian packages of all optional tools, and CONTRIBUTING.md names them', (t) => {
  const needed = Object.values(TOOLS).flatMap(({ debian }) => (debian === undefined ? [] : [debian.split(' ')[0]]));
  for (const file of ['.ci/run', 'CONTRIBUTING.md']) {
    const text = readFileSync(path.join(ROOT, file), 'utf8').replaceAll('\\\n', '');
    const [, list] = /apt-get install (.+)/.exec(text);
    const missing = needed.filter((name) => !list.split(/\s+/).includes(name) && !ESSENTIAL.includes(name));
    t.deepEqual(missing, [], file);
  }
});

test('every test that has a full form runs in it at night', (t) => {
  const read = (file) => readFileSync(path.join(ROOT, file), 'utf8');
  const commands = read('CONTRIBUTING.md').match(/^MILLRACE_TEST_\w+=full [^#\n]+/gm);
  const nightly = read('.github/workflows/nightly.yml').match(/MILLRACE_TEST_\w+=full .+/g);
  t.true(commands.length > 0);
  t.deepEqual(
    commands.map((command) => command.trim()),
    nightly,
  );
});
