/** `millrace init`: writes a small project that runs. Overwrites no file. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { VERSION } from '../addon/addon.js';
import { readArguments, seeHelp, UsageError } from './arguments.js';
import { projectFiles } from './init/project.js';
import { line } from './terminal.js';

/** Runs the command. Resolves with the exit code. */
export async function init(args: string[]): Promise<number> {
  const given = readArguments('init', args, { typescript: 'flag' });
  const [directory = '.', extra] = given.positionals;
  if (extra !== undefined)
    throw new UsageError(`init: unexpected argument ${extra}: one directory is enough${seeHelp('init')}`);
  const root = path.resolve(directory);
  const files = projectFiles({
    name: packageName(path.basename(root)),
    dependencies: dependencies(root),
    isTypeScript: given.flags.has('typescript'),
  });
  const names = Object.keys(files);
  const known = [...names, 'package.json'].find((name) => existsSync(path.join(root, name)));
  if (known !== undefined) {
    throw new UsageError(`init: there is ${path.join(directory, known)} already; nothing was written`);
  }
  for (const name of names) write(path.join(root, name), files[name] as string);
  line(process.stdout, `Wrote ${names.join(', ')}${directory === '.' ? '' : ` into ${directory}`}. Next:\n`);
  const steps = ['npm install', 'npm start'];
  if (directory !== '.') steps.unshift(`cd ${/^[\w./\\:-]+$/.test(directory) ? directory : JSON.stringify(directory)}`);
  line(process.stdout, steps.map((step) => `  ${step}`).join('\n'));
  return OK;
}

/** Writes a file, and fails if one was created meanwhile. */
function write(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text, { flag: 'wx' });
}

/** The name of a package for a folder's name. */
function packageName(folder: string): string {
  const name = folder
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+|-+$/g, '');
  return name === '' ? 'millrace-server' : name;
}

/**
 * What the project depends on: this version or, in a clone of the repository, the path of its folder. If the package was
 * installed from files, the project depends on the same files.
 */
function dependencies(root: string): Record<string, string> {
  const own = path.join(__dirname, '..', '..', '..');
  if (existsSync(path.join(own, 'Cargo.toml'))) return { millrace: fileFrom(root, own) };
  const files = filesInstalled(path.dirname(path.dirname(own)), root);
  return 'millrace' in files ? files : { millrace: `^${VERSION}` };
}

/** The tarballs of this package and of its platforms' packages that the project in a folder depends on. */
function filesInstalled(folder: string, root: string): Record<string, string> {
  const found: Record<string, string> = {};
  let manifest: { dependencies?: Record<string, unknown>; optionalDependencies?: Record<string, unknown> };
  try {
    manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  } catch {
    return found;
  }
  for (const [name, from] of Object.entries({ ...manifest.optionalDependencies, ...manifest.dependencies })) {
    if (!/^millrace(-|$)/.test(name) || typeof from !== 'string' || !from.startsWith('file:')) continue;
    found[name] = fileFrom(root, path.resolve(folder, from.slice('file:'.length)));
  }
  return found;
}

function fileFrom(root: string, file: string): string {
  return `file:${path.relative(root, file).split(path.sep).join('/')}`;
}

const OK = 0;
