// Packs the published packages into tarballs: the main package and those of the platforms. It packs a copy, in which
// the main package gets its optional dependencies, so that `npm ci` works in a clone before any platform's package
// exists. `node scripts/pack.mjs` takes the addon built here, `--artifacts` takes those in artifacts/, and `--all`
// fails if one of them is missing.
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { replaceLinks } from './page-links.mjs';
import { Failure, fail, npm, ROOT } from './process.mjs';

/** Where the tarballs go. */
const PACKAGES = path.join(ROOT, 'target/packages');

/** The largest size of an addon. Raise it only by decision (docs/decisions/0053-an-addon-may-have-seven-mebibytes.md). */
const MOST_BYTES = 7 * 2 ** 20;

/** Fields of package.json for developers of Millrace, not for its users. */
const DEVELOPMENT = ['scripts', 'napi', 'ava', 'devDependencies', 'overrides'];

/** Fields that the platforms' packages share with the main package. */
const SHARED = ['version', 'license', 'homepage', 'bugs', 'repository', 'engines', 'publishConfig'];

/**
 * @param {{which?: 'here' | 'artifacts' | 'all', out?: string}} [options] which addons, and where the tarballs go
 * @returns {{main: string, platforms: Record<string, string>}} the tarballs' paths
 * @throws {Failure} when something to be packed is missing, too large or of another version
 */
export function pack({ which = 'here', out = PACKAGES } = {}) {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const manifest = readManifest(ROOT);
  const platforms = readdirSync(path.join(ROOT, 'npm')).sort();
  checkVersions(manifest, platforms);
  const tarballs = {};
  for (const platform of platforms) {
    const addon = addonOf(platform, which);
    if (addon !== undefined) tarballs[platform] = packPlatform(platform, addon, manifest, out);
  }
  if (Object.keys(tarballs).length === 0) throw new Failure('there is no addon to pack: npm run build');
  return { main: packMain(manifest, platforms, out), platforms: tarballs };
}

/** The tarballs that {@link pack} made earlier, perhaps on another machine. */
export function packedTarballs(out = PACKAGES) {
  const { name, version } = readManifest(ROOT);
  const file = (packed) => path.join(out, `${packed}-${version}.tgz`);
  const platforms = readdirSync(path.join(ROOT, 'npm')).map((platform) => [platform, file(`${name}-${platform}`)]);
  if (!existsSync(file(name))) throw new Failure(`${file(name)} is missing: node scripts/pack.mjs`);
  return { main: file(name), platforms: Object.fromEntries(platforms.filter(([, tarball]) => existsSync(tarball))) };
}

/** All files that name the version must name the same one. */
function checkVersions({ version }, platforms) {
  const named = platforms.map((platform) => [`npm/${platform}/package.json`, platformManifest(platform).version]);
  const cargo = /^\[workspace\.package\]\nversion = "(.+)"$/m.exec(readFileSync(path.join(ROOT, 'Cargo.toml'), 'utf8'));
  const wrong = [...named, ['Cargo.toml', cargo?.[1]]].filter(([, other]) => other !== version);
  if (wrong.length === 0) return;
  throw new Failure(
    wrong.map(([file, other]) => `${file} has version ${other}, package.json has ${version}`).join('\n'),
  );
}

/** The addon to be packed for a platform, if any. */
function addonOf(platform, which) {
  const folder = which === 'here' ? 'js/native' : 'artifacts';
  const file = path.join(ROOT, folder, `millrace.${platform}.node`);
  if (existsSync(file)) return file;
  if (which === 'all') throw new Failure(`${path.relative(ROOT, file)} is missing, and every platform is to be packed`);
  return undefined;
}

function packPlatform(platform, addon, main, out) {
  const stage = newStage(out, platform);
  const manifest = platformManifest(platform);
  for (const key of SHARED) manifest[key] = main[key];
  const file = path.join(stage, manifest.main);
  strip(addon, file);
  const { size } = statSync(file);
  console.log(`${manifest.main}: ${(size / 2 ** 20).toFixed(2)} MiB`);
  if (size > MOST_BYTES) throw new Failure(`${manifest.main} has ${size} bytes, more than ${MOST_BYTES}`);
  writeManifest(stage, manifest);
  copyFileSync(path.join(ROOT, 'npm', platform, 'README.md'), path.join(stage, 'README.md'));
  copyFileSync(path.join(ROOT, 'LICENSE'), path.join(stage, 'LICENSE'));
  return tarball(stage, out);
}

/** The addon without symbols: those from artifacts/ have none, the one built here has them for profilers. */
function strip(from, to) {
  copyFileSync(from, to);
  if (path.dirname(from) === path.join(ROOT, 'artifacts') || process.platform === 'win32') return;
  try {
    execFileSync('strip', process.platform === 'darwin' ? ['-x', to] : ['--strip-all', to], { stdio: 'inherit' });
  } catch (error) {
    throw new Failure(`${from} could not be stripped; strip comes with the C compiler's tools: ${error.message}`);
  }
}

function packMain(manifest, platforms, out) {
  const stage = newStage(out, manifest.name);
  // Files that npm always packs, and the folders and files that `files` selects from.
  const chosen = manifest.files.filter((glob) => !glob.startsWith('!')).map((glob) => glob.split('/*')[0]);
  for (const entry of new Set(['README.md', 'LICENSE', ...chosen])) {
    if (!existsSync(path.join(ROOT, entry))) throw new Failure(`${entry} is missing: npm run build`);
    cpSync(path.join(ROOT, entry), path.join(stage, entry), { recursive: true });
  }
  for (const page of readdirSync(stage, { recursive: true })) {
    if (path.extname(page) === '.md') writePage(stage, page.replaceAll(path.sep, '/'), manifest.files);
  }
  const published = { ...manifest };
  for (const key of DEVELOPMENT) delete published[key];
  const packages = platforms.map((platform) => [platformManifest(platform).name, manifest.version]);
  published.optionalDependencies = { ...published.optionalDependencies, ...Object.fromEntries(packages) };
  writeManifest(stage, published);
  return tarball(stage, out);
}

/** A page for the package: links to files that the package does not contain become their paths in the repository. */
function writePage(stage, page, globs) {
  const file = path.join(stage, page);
  const place = (target, _anchor, link) => (isPacked(stage, target, globs) ? link : undefined);
  writeFileSync(file, replaceLinks(readFileSync(file, 'utf8'), page, place));
}

/** Whether npm packs a file of the stage; not called for those of `js/dist`. */
function isPacked(stage, file, globs) {
  const { dir, ext } = path.posix.parse(file);
  const isChosen = globs.some((glob) => [file, `${dir}/*`, `${dir}/*${ext}`].includes(glob));
  return (isChosen || ['README.md', 'LICENSE'].includes(file)) && existsSync(path.join(stage, file));
}

function newStage(out, name) {
  const stage = path.join(out, 'stage', name);
  mkdirSync(stage, { recursive: true });
  return stage;
}

/** `npm pack` of a folder. */
function tarball(stage, out) {
  const [program, ...args] = npm('pack', '--json', '--ignore-scripts', '--pack-destination', out);
  const output = execFileSync(program, args, { cwd: stage, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  const [{ filename, size, entryCount }] = Object.values(JSON.parse(output));
  console.log(`${filename}: ${entryCount} files, ${(size / 1024).toFixed(0)} KiB`);
  return path.join(out, filename);
}

function platformManifest(platform) {
  return readManifest(path.join(ROOT, 'npm', platform));
}

function readManifest(folder) {
  return JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
}

function writeManifest(folder, manifest) {
  writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** The options of this script and of the check. */
export function whichFrom(args) {
  const [chosen = '', ...more] = args;
  const which = { '': 'here', '--artifacts': 'artifacts', '--all': 'all' }[chosen];
  if (which === undefined || more.length > 0) {
    throw new Failure(`unknown argument ${more[0] ?? chosen}; there are --artifacts and --all`);
  }
  return which;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    pack({ which: whichFrom(process.argv.slice(2)) });
  } catch (error) {
    fail(error);
  }
}
