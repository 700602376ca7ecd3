// Looks up optional programs, without which the rest is still built and tested. Finds and runs each program: one that
// does not run counts as missing. Installs nothing.
import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import path from 'node:path';

import { Failure } from './process.mjs';

/**
 * By name: the candidate `programs` (the first that works is used; default: the program of that name), the arguments
 * for a trial run (`false`: no trial run), and a pattern for its output. `called`: its name in a sentence. `debian`:
 * the package that contains it; `get`: how else to get it. `variable`: an environment variable that names another
 * program.
 *
 * @type {Record<string, {
 *   programs?: string[], tried?: string[] | false, says?: RegExp, called?: string, debian?: string, get?: string,
 *   variable?: string,
 * }>}
 */
export const TOOLS = {
  chromium: {
    programs: ['chromium-headless-shell', 'chrome-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'],
    called: 'Chromium',
    debian: 'chromium-headless-shell',
    get: 'name another in MILLRACE_CHROMIUM',
    variable: 'MILLRACE_CHROMIUM',
  },
  nginx: { tried: ['-v'], debian: 'nginx-light' },
  caddy: { tried: ['version'], debian: 'caddy' },
  'systemd-analyze': { debian: 'systemd' },
  openssl: { tried: ['version'], debian: 'openssl' },
  curl: { says: /\bHTTP2\b/, called: 'curl with HTTP/2', debian: 'curl' },
  tar: { debian: 'tar' },
  mkfifo: { tried: false, debian: 'coreutils' },
  'redis-server': { debian: 'redis-server', variable: 'MILLRACE_TEST_REDIS' },
  // Redis has sharded channels since 7.0, and Valkey has always had them
  'redis-server of 7.0 or newer': redisServer(/\bv=(7|8|9|\d\d)\./, 'redis-server'),
  // our replies are compared with it literally
  'redis-server of 7.0': redisServer(/^Redis server v=7\.0\./, 'redis-server (of Debian 12)'),
  'redis-cli': { debian: 'redis-tools' },
  'redis-benchmark': { debian: 'redis-tools' },
  'nats-server': { debian: 'nats-server', variable: 'MILLRACE_TEST_NATS' },
  // says since when a server leads a stream; 2.9.10 elects late, and loses what it has accepted when it is killed
  'nats-server of 2.11 or newer': {
    programs: ['nats-server-current', 'nats-server'],
    says: /^nats-server: v(2\.(1[1-9]|[2-9]\d)|[3-9]|\d\d)\./,
    get: 'go install github.com/nats-io/nats-server/v2@v2.11.10, and put it on the PATH as nats-server-current',
    variable: 'MILLRACE_TEST_NATS_CURRENT',
  },
  // histories have no copies on it
  'nats-server of 2.9.20 or older': {
    programs: ['nats-server'],
    says: /^nats-server: v2\.([0-8]\.\d+|9\.(\d|1\d|20))\b/,
    debian: 'nats-server (of Debian 12)',
    variable: 'MILLRACE_TEST_NATS',
  },
  'python3 with redis': pythonWith('redis'),
  'python3 with prometheus_client': pythonWith('prometheus_client'),
  valgrind: { tried: ['--tool=callgrind', '--callgrind-out-file=/dev/null', 'true'], debian: 'valgrind' },
  wsplice: { tried: ['--version'], get: 'build it from its source, and name it in WSPLICE', variable: 'WSPLICE' },
  taskset: { debian: 'util-linux' },
  'cargo-deny': { programs: ['cargo'], tried: ['deny', '--version'], get: 'cargo install --locked cargo-deny' },
  actionlint: { get: 'go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12, and put it on the PATH' },
};

function redisServer(says, debian) {
  return { programs: ['redis-server'], says, debian, variable: 'MILLRACE_TEST_REDIS' };
}

function pythonWith(module) {
  const debian = `python3-${module.replaceAll('_', '-')}`;
  return { programs: ['python3'], tried: ['-c', `import ${module}`], debian, get: `pip install ${module}` };
}

/**
 * Where a tool is; undefined: not on this machine.
 *
 * @param {keyof typeof TOOLS} name
 * @param {NodeJS.ProcessEnv} [env] of which the PATH and the variables that name programs are asked
 * @returns {string | undefined}
 * @throws {Failure} when an environment variable names a program that does not run
 */
export function toolPath(name, env = process.env) {
  if (env !== process.env) return look(name, env);
  if (!found.has(name)) found.set(name, look(name, env));
  return found.get(name);
}

/** The tools that this process has already looked up. */
const found = new Map();

/**
 * Which of these tools are missing on this machine, and where to get them; undefined: none is missing.
 *
 * @param {string[]} names
 * @param {NodeJS.ProcessEnv} [env]
 */
export function whatIsMissing(names, env = process.env) {
  const missing = names.filter((name) => toolPath(name, env) === undefined);
  if (missing.length === 0) return undefined;
  return missing.map((name) => `no ${TOOLS[name].called ?? name}: ${howToGet(TOOLS[name])}`).join('; ');
}

function howToGet({ debian, get }) {
  return [debian && `install Debian's ${debian}`, get].filter(Boolean).join(', or ');
}

/** Whether a missing tool is a failure instead of a reason to skip. */
export const isRequired = () => process.env.MILLRACE_REQUIRE_ALL === '1';

/**
 * Like `whatIsMissing`, for a step that is skipped for that reason.
 *
 * @param {...string} names
 * @throws {Failure} when nothing may be skipped
 */
export function reasonToSkip(...names) {
  const missing = whatIsMissing(names);
  if (missing !== undefined && isRequired()) throw new Failure(missing);
  return missing;
}

function look(name, env) {
  const tool = TOOLS[name];
  if (tool === undefined) throw new Failure(`unknown tool ${name}; there are ${Object.keys(TOOLS).join(', ')}`);
  const named = tool.variable && env[tool.variable];
  if (named) {
    if (!works(named, { ...tool, says: undefined }, env)) throw new Failure(`${tool.variable}: ${named} does not run`);
    return works(named, tool, env) ? named : undefined;
  }
  const folders = foldersOf(env);
  const programs = (tool.programs ?? [name]).map((program) => program + (process.platform === 'win32' ? '.exe' : ''));
  const files = programs.flatMap((program) => folders.map((folder) => path.join(folder, program)));
  return files.find((file) => isExecutable(file) && works(file, tool, env));
}

/**
 * The folders of the PATH, each `bin` followed by the `sbin` beside it: Debian installs servers there, and it is not in
 * users' PATH.
 */
function foldersOf(env) {
  const folders = (env.PATH ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  const beside = (folder) => (path.basename(folder) === 'bin' ? [path.join(path.dirname(folder), 'sbin')] : []);
  return [...new Set(folders.flatMap((folder) => [folder, ...beside(folder)]))];
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function works(file, { tried = ['--version'], says }, env) {
  if (tried === false) return true;
  const { status, stdout } = spawnSync(file, tried, { env, encoding: 'utf8', timeout: 60_000 });
  return status === 0 && (says === undefined || says.test(stdout));
}
