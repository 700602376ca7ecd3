// Prepares a fresh or changed clone to run: npm packages, addon, TypeScript. Skips each part whose sources have not
// changed. `--debug` builds the addon without optimisation, `--no-addon` skips it.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkPrerequisites } from './prerequisites.mjs';
import { Failure, fail, npm, ROOT, run, tool } from './process.mjs';
import { dropStamp, hashOf, readStamp, writeStamp } from './stamp.mjs';

/**
 * @param {{debug?: boolean, addon?: boolean}} [options] debug: the addon without optimisation; addon: whether at all
 * @throws {Failure} when something is missing or a build fails
 */
export async function setUp({ debug = false, addon = true } = {}) {
  checkPrerequisites();
  await installPackages();
  if (addon) await buildAddon(debug);
  await buildTypeScript();
}

/** Runs `npm ci` if node_modules is missing or was made from another lock file. Install scripts are not needed. */
async function installPackages() {
  const stamp = 'node_modules/.millrace-lock';
  const hash = hashOf(['package-lock.json']);
  if (readStamp(stamp) === hash) return;
  console.log('Installing the npm packages');
  await run(npm('ci', '--ignore-scripts', '--no-audit', '--no-fund'));
  writeStamp(stamp, hash);
}

/** The native addon, into js/native: `millrace.<platform>.node`. js/src/addon/addon.ts finds it there. */
async function buildAddon(debug) {
  const stamp = 'js/native/.stamp';
  const rustc = execFileSync('rustc', ['-vV'], { cwd: ROOT, encoding: 'utf8' });
  const sources = ['Cargo.toml', 'Cargo.lock', '.cargo', 'package-lock.json', ...rustSources()];
  const hash = hashOf(sources, `${rustc}${debug ? 'debug' : 'release'} ${process.env.RUSTFLAGS ?? ''}`);
  if (readStamp(stamp) === hash && addonExists()) return;
  console.log(`Building the addon (${debug ? 'debug' : 'release; the first time takes minutes'})`);
  dropStamp(stamp);
  await run([
    ...tool('@napi-rs/cli', 'napi'),
    'build',
    '--platform',
    ...(debug ? [] : ['--release']),
    '--manifest-path',
    'crates/node/Cargo.toml',
    '--output-dir',
    'js/native',
    '--no-js', // we find it ourselves
    ...(process.env.CI ? ['--', '--locked'] : []),
  ]);
  if (!addonExists()) throw new Failure('the addon was built, but js/native holds no millrace.<platform>.node');
  writeStamp(stamp, hash);
}

/** js/src to js/dist: CommonJS with declarations, and thin ESM entries beside them. */
async function buildTypeScript() {
  const stamp = 'js/dist/.stamp';
  const hash = hashOf([
    'js/src',
    'tsconfig.json',
    'tsconfig.build.json',
    'package-lock.json',
    'scripts/esm.mjs',
    'scripts/embed.mjs',
  ]);
  if (readStamp(stamp) === hash) return;
  console.log('Compiling the TypeScript');
  rmSync(path.join(ROOT, 'js/dist'), { recursive: true, force: true });
  await run([...tool('typescript', 'tsc'), '--project', 'tsconfig.build.json']);
  await run([process.execPath, path.join(ROOT, 'scripts/esm.mjs')]);
  writeStamp(stamp, hash);
}

/** Manifests and sources of the addon's crates; tests and benches do not change the addon. */
function rustSources() {
  return readdirSync(path.join(ROOT, 'crates'))
    .filter((name) => name !== 'xtask' && name !== 'testkit')
    .flatMap((name) => ['Cargo.toml', 'build.rs', 'src'].map((entry) => `crates/${name}/${entry}`));
}

function addonExists() {
  const folder = path.join(ROOT, 'js/native');
  if (!existsSync(folder)) return false;
  const files = readdirSync(folder);
  return files.some((name) => name.startsWith('millrace.') && name.endsWith('.node'));
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const args = process.argv.slice(2);
  const unknown = args.filter((arg) => arg !== '--debug' && arg !== '--no-addon');
  if (unknown.length > 0) fail(new Failure(`unknown argument ${unknown[0]}; there are --debug and --no-addon`));
  await setUp({ debug: args.includes('--debug'), addon: !args.includes('--no-addon') }).catch(fail);
}
