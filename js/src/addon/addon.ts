/**
 * Finds and opens the native addon: the file that a clone has built, the file of the platform's package, or the file
 * that a bundler copied. If there is none, the error lists where it looked and how to fix that. No other file knows
 * where the addon is.
 */

import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { MillraceError } from '../errors.js';
import { bundleFolders, IS_BUNDLED } from './place.js';
import { needsGlibc, whyForbidden } from './runtime.js';

/**
 * The parts of package.json that are used here. The optional dependencies are added when the package is packed.
 * Bundlers copy the file.
 */
// biome-ignore lint/correctness/useImportExtensions: it is no module
const manifest = require('../../../package.json') as {
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
  const search = new Search(isAddon);
  const [wanted, ...others] = platforms();
  for (const platform of [wanted, ...others]) {
    const addon = IS_BUNDLED ? search.inBundle(platform) : search.inPackages(platform);
    if (addon !== undefined) return addon;
  }
  throw new MillraceError('ERR_MILLRACE_BINDING_MISSING', explain(wanted, search));
}

/** One search for the addon. It keeps what it looked at, for the error. */
class Search<T> {
  readonly tried: string[] = [];
  /** Platforms whose package is not installed. */
  readonly missing: string[] = [];
  forbidden: string | undefined;
  readonly #isAddon: (value: unknown) => value is T;

  constructor(isAddon: (value: unknown) => value is T) {
    this.#isAddon = isAddon;
  }

  /** Opens the file that a clone has built, or that of the platform's package. */
  inPackages(platform: string): T | undefined {
    const local = path.join(__dirname, '..', '..', 'native', fileNameOf(platform));
    // not `existsSync`, for which some runtimes need a permission
    if (resolve(local) === undefined) {
      this.tried.push(`${local}: does not exist`);
    } else {
      const addon = this.#required(local);
      if (addon !== undefined) return addon;
    }
    const name = packageNameOf(platform);
    const file = resolve(name);
    if (file !== undefined) return this.#required(file);
    this.tried.push(`${name}: is not installed`);
    this.missing.push(platform);
    return undefined;
  }

  /**
   * Opens what the bundler made of the platform's package, which is a module or the name of a file, or else a file
   * beside the bundle.
   */
  inBundle(platform: string): T | undefined {
    const required = requirePackage(platform);
    const file = nameOfFile(required.exports);
    if ('error' in required) {
      this.tried.push(`${packageNameOf(platform)}: cannot be required in this bundle: ${firstLine(required.error)}`);
      this.missing.push(platform);
    } else if (file === undefined) {
      const addon = this.#checked(packageNameOf(platform), required);
      if (addon !== undefined) return addon;
    }
    const places = file === undefined ? [] : placesOf(file);
    for (const place of [...places, ...bundleFolders().flatMap((folder) => addonsIn(folder, platform))]) {
      const addon = this.#dlopen(place);
      if (addon !== undefined) return addon;
    }
    return undefined;
  }

  #required(file: string): T | undefined {
    return this.#checked(
      file,
      load(() => createRequire(__filename)(file)),
    );
  }

  /** Returns what was loaded if it is the addon. */
  #checked(file: string, { exports, error }: Loaded): T | undefined {
    if (error !== undefined) this.#failed(file, error);
    else if (this.#isAddon(exports)) return exports;
    // a runtime may give a thread the module object of another thread, so load the file again
    else if (path.isAbsolute(file)) return this.#dlopen(file);
    else this.#isForeign(file);
    return undefined;
  }

  #dlopen(file: string): T | undefined {
    // Node.js passes this name to the addon, and worker threads get it from there
    const fresh = { exports: {} as unknown, filename: file };
    const { error } = load(() => process.dlopen(fresh, file));
    if (error !== undefined) this.#failed(file, error);
    else if (this.#isAddon(fresh.exports)) return fresh.exports;
    else this.#isForeign(file);
    return undefined;
  }

  #isForeign(file: string): void {
    this.tried.push(`${file}: is there, but is not the addon that this JavaScript was made for`);
  }

  #failed(file: string, error: unknown): void {
    this.tried.push(`${file}: is there, but cannot be loaded: ${firstLine(error)}`);
    this.forbidden ??= whyForbidden(file);
  }
}

/** What was loaded, or the error. */
interface Loaded {
  exports?: unknown;
  error?: unknown;
}

function load(act: () => unknown): Loaded {
  try {
    return { exports: act() };
  } catch (error) {
    return { error };
  }
}

/**
 * Requires the package of a platform, in a bundle. Each name is written out, so that bundlers and tracers find the
 * installed packages, and is within `try`, so that they do not require the others.
 */
function requirePackage(platform: string): Loaded {
  try {
    switch (platform) {
      case 'darwin-arm64':
        return { exports: require('millrace-darwin-arm64') };
      case 'darwin-x64':
        return { exports: require('millrace-darwin-x64') };
      case 'freebsd-x64':
        return { exports: require('millrace-freebsd-x64') };
      case 'linux-arm-gnueabihf':
        return { exports: require('millrace-linux-arm-gnueabihf') };
      case 'linux-arm64-gnu':
        return { exports: require('millrace-linux-arm64-gnu') };
      case 'linux-arm64-musl':
        return { exports: require('millrace-linux-arm64-musl') };
      case 'linux-x64-gnu':
        return { exports: require('millrace-linux-x64-gnu') };
      case 'linux-x64-musl':
        return { exports: require('millrace-linux-x64-musl') };
      case 'win32-arm64-msvc':
        return { exports: require('millrace-win32-arm64-msvc') };
      case 'win32-x64-msvc':
        return { exports: require('millrace-win32-x64-msvc') };
      default:
        return { error: new Error('no package is published for this platform') };
    }
  } catch (error) {
    return { error };
  }
}

/** The name of a file that a bundler exports in place of an addon, as the module or its default export. */
function nameOfFile(exports: unknown): string | undefined {
  const whole = typeof exports === 'object' && exports !== null ? (exports as { default?: unknown }).default : exports;
  return typeof whole === 'string' ? whole : undefined;
}

/** Where a file named by a bundler may be. The name is mostly relative to the bundle. */
function placesOf(file: string): string[] {
  if (file.startsWith('file:')) return [fileURLToPath(file)];
  if (path.isAbsolute(file)) return [file];
  const places = bundleFolders().map((folder) => path.join(folder, file));
  return places.filter((place) => existsSync(place));
}

/** The addons of a platform in a folder, also with a hash in the name, as bundlers write it. */
function addonsIn(folder: string, platform: string): string[] {
  const { exports: names } = load(() => readdirSync(folder)) as { exports?: string[] };
  const isAddon = (name: string): boolean => name.startsWith(`millrace.${platform}`) && name.endsWith('.node');
  return (names ?? []).filter(isAddon).map((name) => path.join(folder, name));
}

/**
 * This platform in the form of package and file names, the most likely first. On Linux both C libraries may be
 * installed.
 */
function platforms(): [string, ...string[]] {
  const base = `${process.platform}-${process.arch}`;
  if (process.platform === 'win32') return [`${base}-msvc`];
  if (process.platform !== 'linux') return [base];
  if (process.arch === 'arm') return usesMusl() ? [`${base}-musleabihf`] : [`${base}-gnueabihf`];
  return usesMusl() ? [`${base}-musl`, `${base}-gnu`] : [`${base}-gnu`, `${base}-musl`];
}

/** Whether musl's loader exists and the runtime does not report glibc. */
function usesMusl(): boolean {
  if (needsGlibc()) return false;
  const machine = MACHINES[process.arch];
  if (machine === undefined || !existsSync(`/lib/ld-musl-${machine}.so.1`)) return false;
  const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined;
  return report?.header?.glibcVersionRuntime === undefined;
}

/** The names of processors in musl's loader. */
const MACHINES: Partial<Record<NodeJS.Architecture, string>> = { x64: 'x86_64', arm64: 'aarch64', arm: 'armhf' };

function fileNameOf(platform: string): string {
  return `millrace.${platform}.node`;
}

function packageNameOf(platform: string): string {
  return `${manifest.name}-${platform}`;
}

function resolve(place: string): string | undefined {
  return load(() => createRequire(__filename).resolve(place)).exports as string | undefined;
}

function firstLine(error: unknown): string {
  return String(error instanceof Error ? error.message : error).split('\n')[0] as string;
}

function explain(wanted: string, { tried, missing, forbidden }: Search<unknown>): string {
  const platform = `${process.platform}-${process.arch}`;
  const looked = `the native addon for ${platform} cannot be found. Looked for:\n${tried.map((line) => `  ${line}\n`).join('')}`;
  if (forbidden !== undefined) return `${looked}${forbidden}`;
  const prebuilt = Object.keys(manifest.optionalDependencies ?? {}).filter((name) => name.startsWith(manifest.name));
  if (prebuilt.length === 0) return `${looked}In a clone of the repository it is built by: npm run build`;
  const name = packageNameOf(wanted);
  if (missing.includes(wanted) && !prebuilt.includes(name)) {
    return `${looked}No package is published for this platform; there are ${prebuilt.join(', ')}.`;
  }
  if (IS_BUNDLED) {
    return (
      `${looked}This code is in a bundle, and the addon is a file that the bundle needs beside it. Install ${name} before you ` +
      "bundle, and let the bundler take the addon along (esbuild: --loader:.node=copy), or copy the package's file " +
      `${fileNameOf(wanted)} into the folder of the bundle. docs/bundlers.md in the package has what each bundler needs.`
    );
  }
  if (!missing.includes(wanted)) return `${looked}Install again: remove node_modules, then npm install.`;
  return (
    `${looked}Install the package: npm install ${name}@${manifest.version}\n` +
    `It is an optional dependency of ${manifest.name}. npm leaves it out with --omit=optional, and where the lock file was ` +
    'made on another platform (https://github.com/npm/cli/issues/4828): then delete package-lock.json and node_modules ' +
    'and install again.'
  );
}
