/**
 * Finds and opens the native addon: the file built here, or the one in the platform's package. Where there is none, the
 * error says what was looked for and how to mend it. The only file that knows where the addon lies.
 */

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { MillraceError } from './errors.js';
import { needsGlibc, whyForbidden } from './runtime.js';

const requireHere = createRequire(__filename);

/** Absolute, so that bundlers and working directories do not matter. */
const ROOT = path.join(__dirname, '..', '..');

/** What is needed of package.json. Its optional dependencies are there once it is packed. */
const manifest = requireHere('../../package.json') as {
  name: string;
  version: string;
  optionalDependencies?: Record<string, string>;
};

/** The version of the package. */
export const VERSION = manifest.version;

/**
 * @param isAddon whether something that a file exports is the addon
 * @throws {MillraceError} ERR_MILLRACE_BINDING_MISSING
 */
export function openAddon<T>(isAddon: (value: unknown) => value is T): T {
  const tried: string[] = [];
  let missing: string | undefined;
  let forbidden: string | undefined;
  const [wanted, ...others] = platforms();
  for (const platform of [wanted, ...others]) {
    const local = path.join(ROOT, 'js', 'native', `millrace.${platform}.node`);
    // not `existsSync`, for which not every runtime has leave
    if (resolve(local) !== undefined) {
      const addon = open(local, isAddon, tried);
      if (addon !== undefined) return addon;
      forbidden ??= whyForbidden(local);
    } else {
      tried.push(`${local}: does not exist`);
    }
    const packageName = `${manifest.name}-${platform}`;
    const file = resolve(packageName);
    if (file === undefined) {
      tried.push(`${packageName}: is not installed`);
      if (platform === wanted) missing = packageName;
    } else {
      const addon = open(file, isAddon, tried);
      if (addon !== undefined) return addon;
      forbidden ??= whyForbidden(file);
    }
  }
  throw new MillraceError('ERR_MILLRACE_BINDING_MISSING', explain(tried, missing, forbidden));
}

/** This platform as packages and files are named, the likelier first. On Linux both C libraries may be installed. */
function platforms(): [string, ...string[]] {
  const base = `${process.platform}-${process.arch}`;
  if (process.platform === 'win32') return [`${base}-msvc`];
  if (process.platform !== 'linux') return [base];
  if (process.arch === 'arm') return usesMusl() ? [`${base}-musleabihf`] : [`${base}-gnueabihf`];
  return usesMusl() ? [`${base}-musl`, `${base}-gnu`] : [`${base}-gnu`, `${base}-musl`];
}

/** Whether musl's loader is there and the runtime does not report that it uses glibc all the same. */
function usesMusl(): boolean {
  if (needsGlibc()) return false;
  const machine = MACHINES[process.arch];
  if (machine === undefined || !existsSync(`/lib/ld-musl-${machine}.so.1`)) return false;
  const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined;
  return report?.header?.glibcVersionRuntime === undefined;
}

/** Processors as musl's loader names them. */
const MACHINES: Partial<Record<NodeJS.Architecture, string>> = { x64: 'x86_64', arm64: 'aarch64', arm: 'armhf' };

function resolve(place: string): string | undefined {
  try {
    return requireHere.resolve(place);
  } catch {
    return undefined;
  }
}

function open<T>(file: string, isAddon: (value: unknown) => value is T, tried: string[]): T | undefined {
  try {
    const addon: unknown = requireHere(file);
    if (isAddon(addon)) return addon;
    // A runtime that hands a thread another thread's stale module object gets a fresh one.
    const fresh = { exports: {} as unknown };
    process.dlopen(fresh, file);
    if (isAddon(fresh.exports)) return fresh.exports;
    tried.push(`${file}: is there, but is not the addon that this JavaScript was made for`);
  } catch (error) {
    const [reason] = String(error instanceof Error ? error.message : error).split('\n');
    tried.push(`${file}: is there, but cannot be loaded: ${reason}`);
  }
  return undefined;
}

function explain(tried: string[], missing: string | undefined, forbidden: string | undefined): string {
  const platform = `${process.platform}-${process.arch}`;
  const looked = `the native addon for ${platform} cannot be found. Looked for:\n${tried.map((line) => `  ${line}\n`).join('')}`;
  if (forbidden !== undefined) return `${looked}${forbidden}`;
  const prebuilt = Object.keys(manifest.optionalDependencies ?? {}).filter((name) => name.startsWith(manifest.name));
  if (prebuilt.length === 0) return `${looked}In a clone of the repository it is built by: npm run build`;
  if (missing === undefined) return `${looked}Install again: remove node_modules, then npm install.`;
  if (!prebuilt.includes(missing)) {
    return `${looked}No package is published for this platform; there are ${prebuilt.join(', ')}.`;
  }
  return (
    `${looked}Install the package: npm install ${missing}@${manifest.version}\n` +
    `It is an optional dependency of ${manifest.name}. npm leaves it out with --omit=optional, and where the lock file was ` +
    'made on another platform (https://github.com/npm/cli/issues/4828): then delete package-lock.json and node_modules ' +
    'and install again.'
  );
}
