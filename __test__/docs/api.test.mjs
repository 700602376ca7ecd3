// The API reference: everything public has a doc comment, and typedoc has nothing to complain about.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { removeWith } from '../support/teardown.mjs';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..');
const typedoc = path.join(root, 'node_modules/typedoc/bin/typedoc');

/** Runs typedoc as `npm run docs` does; `{code, output}`. */
async function document(args, cwd = root) {
  const run = promisify(execFile)(process.execPath, [typedoc, ...args], {
    cwd,
    env: { ...process.env, NO_COLOR: '1' },
  });
  return run.then(
    ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
    ({ code, stdout, stderr }) => ({ code, output: stdout + stderr }),
  );
}

test('every public item has a doc comment, and every link in one leads somewhere', async (t) => {
  const { code, output } = await document(['--emit', 'none']);
  t.is(code, 0, output);
});

test('the reference has every entry of the package', async (t) => {
  const { exports } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));
  const entries = Object.keys(exports).filter((name) => name !== './package.json');
  const { default: config } = await import(pathToFileURL(path.join(root, 'typedoc.config.mjs')));
  t.is(config.entryPoints.length, entries.length);
});

/** Those of the configuration are of this package. */
const NO_EXCEPTIONS = { intentionallyNotDocumented: [], intentionallyNotExported: [] };

test('an item without a doc comment is an error', async (t) => {
  await mkdir(path.join(root, 'target'), { recursive: true });
  const folder = removeWith(t, await mkdtemp(path.join(root, 'target', 'typedoc-')));
  const { default: config } = await import(pathToFileURL(path.join(root, 'typedoc.config.mjs')));
  const use = async (source) => {
    await writeFile(path.join(folder, 'entry.ts'), source);
    await writeFile(path.join(folder, 'tsconfig.json'), '{"compilerOptions": {"types": []}, "files": ["entry.ts"]}');
    const own = { ...config, entryPoints: ['entry.ts'], tsconfig: 'tsconfig.json', readme: 'none' };
    await writeFile(path.join(folder, 'typedoc.json'), JSON.stringify({ ...own, ...NO_EXCEPTIONS }));
    return document(['--emit', 'none'], folder);
  };
  const whole = '/** A. */ export interface Whole {\n  /** B. */ part: number;\n}\n';
  t.deepEqual(await use(whole), { code: 0, output: '' });
  const { code, output } = await use(`${whole}
    export const bare = 1;
    /** C. */ export interface Half { part: number }
    /** D. */ export class Idle { act(): void {} }
  `);
  t.not(code, 0);
  const found = [...output.matchAll(/(\S+) \(\w+\), defined in/g)].map(([, name]) => name).sort();
  t.deepEqual(found, ['Half.part', 'Idle.act', 'bare']);
});
