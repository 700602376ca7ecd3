// What is published, before it is: the packed tarballs are installed into an empty folder, with no Rust on the PATH,
// and used as ES modules, CommonJS and TypeScript, in every runtime. One test after the other: they wait for programs.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import test from 'ava';

import { pack } from '../../scripts/pack.mjs';
import { deadLink, linksOf } from '../../scripts/page-links.mjs';
import { npm, tool } from '../../scripts/process.mjs';
import { addTypes, project, runIn, runtimes, serve, WITHOUT_RUST, writeFiles } from '../support/installed.mjs';
import { fileOf } from '../support/markdown.mjs';
import { remove } from '../support/teardown.mjs';
import { connect } from '../support/ws-client.mjs';

let tarballs;
let platform;
const out = mkdtempSync(path.join(os.tmpdir(), 'millrace-tarballs-'));

test.before(() => {
  tarballs = pack({ out });
  [platform] = Object.keys(tarballs.platforms);
});

test.after.always(() => remove(out));

/** The README's examples, on a free port: in one file, and with workers. */
async function readmeFiles() {
  const names = ['server.mjs', 'main.mjs', 'worker.mjs'];
  const codes = await Promise.all(names.map((name) => fileOf('README.md', name)));
  return Object.fromEntries(codes.map((code, at) => [names[at], code.replace('localhost:3000', '127.0.0.1:0')]));
}

/** The same in CommonJS. */
const COMMONJS = {
  'server.cjs': `
const path = require('node:path');
const { start } = require('millrace');

start({ bind: '127.0.0.1:0', workerPath: path.join(__dirname, 'worker.cjs') }).then((server) => {
  console.log('Listening on ws://' + server.addresses[0]);
});
`,
  'worker.cjs': `
const { send, subscribe } = require('millrace');

exports.handleOpen = (socketId) => {
  subscribe(socketId, 'everyone');
  return true;
};
exports.handleTextMessage = (text, socketId) => {
  send('everyone', socketId + ': ' + text, { except: socketId });
};
`,
};

/** The same in TypeScript. */
const TYPESCRIPT = {
  'server.ts': `
import { type Server, type StartOptions, start } from 'millrace';

const options: StartOptions = { bind: '127.0.0.1:0', workerPath: new URL('./worker.js', import.meta.url) };
const server: Server = await start(options);
console.log('Listening on ws://' + server.addresses[0]);
`,
  'worker.ts': `
import { send, subscribe, type WorkerModule } from 'millrace';

export const handleOpen: WorkerModule['handleOpen'] = (socketId) => {
  subscribe(socketId, 'everyone');
  return true;
};
export const handleTextMessage: WorkerModule['handleTextMessage'] = (text, socketId) => {
  const count: number = send('everyone', socketId + ': ' + text, { except: socketId });
  // @ts-expect-error the types are those of the package, not any
  const wrong: string = count;
  void wrong;
};
`,
};

async function clientsHearEachOther(t, address) {
  const [one, two] = [await connect(t, address), await connect(t, address)];
  one.send('hello from the first');
  t.regex(await two.text(), /^\d+: hello from the first$/);
}

/** What makes `msgpackr` faster where it can be had. */
const OPTIONAL = new Set(['@msgpackr-extract', 'detect-libc', 'msgpackr-extract', 'node-gyp-build-optional-packages']);

/** Those that the package needs, and those that they need. */
const LIBRARIES = [
  ...['accepts', 'content-type', 'media-typer', 'mime-db', 'mime-types', 'negotiator', 'type-is'],
  ...['cookie', 'cookie-signature', 'encodeurl', 'vary', 'path-to-regexp'],
  ...['msgpackr', 'chokidar', 'readdirp', 'ws'],
];

test.serial('the tarballs contain the needed files and nothing else', (t) => {
  const folder = project(t, tarballs);
  t.deepEqual(
    readdirSync(path.join(folder, 'node_modules'))
      .filter((name) => !name.startsWith('.') && !OPTIONAL.has(name))
      .sort(),
    ['millrace', `millrace-${platform}`, ...LIBRARIES].sort(),
  );
  const addon = path.join(folder, 'node_modules', `millrace-${platform}`);
  t.deepEqual(readdirSync(addon).sort(), ['LICENSE', 'README.md', `millrace.${platform}.node`, 'package.json']);
  const main = readdirSync(path.join(folder, 'node_modules/millrace'), { recursive: true });
  t.false(main.some((name) => /\.node$|\.test\.|__test__|js.src|crates|\.stamp/.test(name)));
  t.true(main.includes(path.join('js', 'dist', 'index.mjs')));
});

test.serial('every link of a page in the package leads to something in it', (t) => {
  const root = path.join(project(t, tarballs), 'node_modules/millrace');
  const pages = readdirSync(root, { recursive: true }).filter((name) => path.extname(name) === '.md');
  const texts = new Map(
    pages.map((page) => [page.replaceAll(path.sep, '/'), readFileSync(path.join(root, page), 'utf8')]),
  );
  t.true(texts.size > 60, [...texts.keys()].join(' '));
  const packed = { exists: (file) => existsSync(path.join(root, file)), textOf: (page) => texts.get(page) };
  const dead = [...texts].flatMap(([page, text]) => linksOf(text).map((link) => deadLink(page, link, packed)));
  t.deepEqual(
    dead.filter((problem) => problem !== undefined),
    [],
  );
  t.regex(texts.get('docs/authentication.md'), /`examples\/auth` in the repository/);
});

test.serial('no Rust can be found where the packages are installed and used', (t) => {
  for (const program of ['cargo', 'rustc']) {
    t.is(spawnSync(program, ['--version'], { env: WITHOUT_RUST }).error?.code, 'ENOENT', program);
  }
});

for (const [name, command] of Object.entries(runtimes())) {
  test.serial(`${name}: the examples of the README, as ES modules`, async (t) => {
    const folder = project(t, tarballs, { files: await readmeFiles() });
    for (const script of ['server.mjs', 'main.mjs']) {
      await clientsHearEachOther(t, await serve(t, folder, [...command, script]));
    }
  });

  test.serial(`${name}: the same in CommonJS`, async (t) => {
    const folder = project(t, tarballs, { type: 'commonjs', files: COMMONJS });
    await clientsHearEachOther(t, await serve(t, folder, [...command, 'server.cjs']));
  });
}

test.serial('a project that millrace init wrote depends on what wrote it and runs with it', async (t) => {
  const folder = project(t, tarballs);
  const read = (file) => JSON.parse(readFileSync(path.join(folder, file), 'utf8'));
  const init = (name) => {
    const { status, output } = runIn(folder, [path.join(folder, 'node_modules/.bin/millrace'), 'init', name]);
    t.is(status, 0, output);
    return read(`${name}/package.json`).dependencies;
  };
  const { version } = read('node_modules/millrace/package.json');
  const files = [tarballs.main, ...Object.values(tarballs.platforms)];
  const names = ['millrace', ...Object.keys(tarballs.platforms).map((name) => `millrace-${name}`)];
  const depend = (entries) =>
    writeFiles(folder, {
      'package.json': JSON.stringify({ ...read('package.json'), dependencies: Object.fromEntries(entries) }),
    });
  depend([['express', 'file:../express.tgz'], ...names.map((name, at) => [name, `file:${files[at]}`])]);
  const inApp = (file) =>
    `file:${path
      .relative(path.join(realpathSync(folder), 'tarballs'), file)
      .split(path.sep)
      .join('/')}`;
  t.deepEqual(init('tarballs'), Object.fromEntries(names.map((name, at) => [name, inApp(files[at])])));
  depend([['millrace', `^${version}`]]);
  t.deepEqual(init('app'), { millrace: `^${version}` });
  const server = path.join(folder, 'app/server.js');
  writeFileSync(server, readFileSync(server, 'utf8').replace('?? 3000', '?? 0'));
  const address = await serve(t, path.join(folder, 'app'), [process.execPath, 'server.js']);
  const [one, two] = [await connect(t, address, { path: '/?name=Ann' }), await connect(t, address)];
  one.send('hello');
  t.deepEqual(await two.json(), { from: 'Ann', text: 'hello' });
});

/** What a program finds in the low-level sockets: all of it in the default export, where there is one, and by its name. */
const SOCKETS = {
  'sockets.mjs': `
import sockets, { AF_INET, parse_http_request, socket } from 'millrace/sockets';
const { path } = parse_http_request('GET /es HTTP/1.1\\n\\n');
console.log(sockets.socket === socket && sockets.AF_INET === AF_INET && path);
`,
  'sockets.cjs': `
const { AF_INET, parse_http_request, socket, sockets } = require('millrace/sockets');
const { path } = parse_http_request('GET /commonjs HTTP/1.1\\n\\n');
console.log(sockets.socket === socket && sockets.AF_INET === AF_INET && path);
`,
};

for (const [name, command] of Object.entries(runtimes())) {
  test.serial(`${name}: millrace/sockets, as an ES module and in CommonJS`, (t) => {
    const folder = project(t, tarballs, { files: SOCKETS });
    for (const [file, said] of [
      ['sockets.mjs', '/es'],
      ['sockets.cjs', '/commonjs'],
    ]) {
      const { status, output } = runIn(folder, [...command, file]);
      t.deepEqual([status, output.trim()], [0, said]);
    }
  });
}

test.serial('npx millrace is there, with the version of the package', (t) => {
  const folder = project(t, tarballs);
  const { version } = JSON.parse(readFileSync(path.join(folder, 'node_modules/millrace/package.json'), 'utf8'));
  const { status, output } = runIn(folder, npm('exec', '--offline', '--', 'millrace', '--version'));
  t.is(status, 0, output);
  t.true(output.split(/\s+/).includes(version), output);
});

const RESOLUTIONS = {
  nodenext: { module: 'nodenext', moduleResolution: 'nodenext' },
  bundler: { module: 'esnext', moduleResolution: 'bundler' },
};

for (const [name, options] of Object.entries(RESOLUTIONS)) {
  test.serial(`TypeScript, strict, resolution ${name}: compiles and runs`, async (t) => {
    const compilerOptions = {
      ...options,
      strict: true,
      target: 'es2022',
      lib: ['es2023'],
      types: ['node'],
      skipLibCheck: false,
      exactOptionalPropertyTypes: true,
    };
    const folder = project(t, tarballs, {
      files: { ...TYPESCRIPT, 'tsconfig.json': JSON.stringify({ compilerOptions }) },
    });
    addTypes(folder);
    const { status, output } = runIn(folder, [...tool('typescript', 'tsc'), '--project', folder]);
    t.is(status, 0, output);
    await clientsHearEachOther(t, await serve(t, folder, [process.execPath, 'server.js']));
  });
}

test.serial('TypeScript, nodenext, in a CommonJS project: compiles', (t) => {
  const compilerOptions = { ...RESOLUTIONS.nodenext, strict: true, target: 'es2022', types: ['node'], noEmit: true };
  const files = {
    'main.ts':
      "import { start, type Server } from 'millrace';\nexport const server: Promise<Server> = start({ bind: ':0' });\n",
    'tsconfig.json': JSON.stringify({ compilerOptions }),
  };
  const folder = project(t, tarballs, { type: 'commonjs', files });
  addTypes(folder);
  const { status, output } = runIn(folder, [...tool('typescript', 'tsc'), '--project', folder]);
  t.is(status, 0, output);
});

const ASK = "import { stats } from 'millrace';\nstats();\n";
const ASK_COMMONJS = "require('millrace').stats();\n";

for (const [name, [names, shown]] of Object.entries({
  client: ['createClient, CallError', "typeof createClient, new CallError('a').code"],
  'splice-client': ['connect, SpliceSocket', 'typeof connect, SpliceSocket.OPEN'],
})) {
  test.serial(`millrace/${name} needs no addon, as ES module and as CommonJS`, (t) => {
    const say = `console.log(${shown});\n`;
    const files = {
      'client.mjs': `import { ${names} } from 'millrace/${name}';\n${say}`,
      'client.cjs': `const { ${names} } = require('millrace/${name}');\n${say}`,
    };
    const folder = project(t, tarballs, { npmArgs: ['--omit=optional'], files });
    for (const [runtime, command] of Object.entries(runtimes())) {
      for (const file of Object.keys(files)) {
        const { status, output } = runIn(folder, [...command, file]);
        t.is(status, 0, output);
        t.is(output.trim(), name === 'client' ? 'function a' : 'function 1', `${runtime} ${file}`);
      }
    }
  });
}

test.serial('without the platform package the error names it and how to install it', (t) => {
  const folder = project(t, tarballs, { npmArgs: ['--omit=optional'], files: { 'ask.mjs': ASK } });
  for (const [name, command] of Object.entries(runtimes())) {
    const { status, output } = runIn(folder, [...command, 'ask.mjs']);
    t.not(status, 0, name);
    t.true(output.includes(`the native addon for ${process.platform}-${process.arch} cannot be found`), output);
    t.true(output.includes(`millrace-${platform}: is not installed`), output);
    t.regex(output, new RegExp(`npm install millrace-${platform}@\\d+\\.\\d+\\.\\d+`));
    t.true(output.includes('--omit=optional'), output);
    t.true(output.includes('ERR_MILLRACE_BINDING_MISSING'), output);
  }
});

test.serial('where no package can be had, none is named: Alpine Linux on armv7', (t) => {
  const alpine = `
for (const [name, value] of [['platform', 'linux'], ['arch', 'arm']]) Object.defineProperty(process, name, { value });
const fs = require('node:fs');
const { existsSync } = fs;
fs.existsSync = (file) => file === '/lib/ld-musl-armhf.so.1' || existsSync(file);
process.report.getReport = () => ({ header: {} });
`;
  const folder = project(t, tarballs, { files: { 'ask.cjs': alpine + ASK_COMMONJS } });
  const { status, output } = runIn(folder, [process.execPath, 'ask.cjs']);
  t.is(status, 1, output);
  t.regex(output, /No package is published for this platform; there are millrace-/);
  t.notRegex(output, /npm install/);
});

test.serial('a platform package that cannot be loaded is distinguished from a missing one', (t) => {
  const folder = project(t, tarballs, { files: { 'ask.mjs': ASK } });
  writeFileSync(path.join(folder, `node_modules/millrace-${platform}/millrace.${platform}.node`), 'no addon');
  const { status, output } = runIn(folder, [process.execPath, 'ask.mjs']);
  t.not(status, 0);
  t.regex(output, /millrace\.[\w-]+\.node: is there, but cannot be loaded: ./);
  t.true(output.includes('Install again'), output);
});

test.serial('an addon of another version is refused', (t) => {
  const folder = project(t, tarballs, { files: { 'ask.cjs': ASK_COMMONJS } });
  const main = changeManifest(path.join(folder, 'node_modules/millrace'), { version: '99.0.0' });
  const { status, output } = runIn(folder, [process.execPath, 'ask.cjs']);
  t.not(status, 0);
  t.true(output.includes('ERR_MILLRACE_BINDING_MISMATCH'), output);
  t.true(output.includes('but the package has version 99.0.0'), output);
  // As in a clone, whose package.json names no platforms' packages.
  changeManifest(main, { optionalDependencies: {} });
  rmSync(path.join(folder, 'node_modules', `millrace-${platform}`), { recursive: true });
  t.true(runIn(folder, [process.execPath, 'ask.cjs']).output.includes('npm run build'));
});

/** What the real addon may lack, and a program that meets it. */
const OLDER = [
  [
    'function stats',
    `const { bind } = addon;
     module.exports = { ...addon, bind: (id) => ({ ...bind(id), stats: undefined }) };`,
    ASK_COMMONJS,
  ],
  [
    'function wake',
    `const { bind } = addon;
     const older = (gateway) => {
       const { addWorker } = gateway;
       gateway.addWorker = (...given) => Object.assign(addWorker(...given), { wake: undefined });
       return gateway;
     };
     module.exports = { ...addon, bind: (id) => older(bind(id)) };`,
    `require('millrace')
       .start({ bind: '127.0.0.1:0', workerPath: require('node:path').join(__dirname, 'worker.cjs'), threads: 0 })
       .catch((error) => {
         console.error(error.cause);
         process.exitCode = 1;
       });`,
  ],
  ['state', 'module.exports = { ...addon, state: undefined };', ASK_COMMONJS],
];

for (const [lacks, older, ask] of OLDER) {
  test.serial(`an addon that is older than the JavaScript is detected: it lacks ${lacks}`, (t) => {
    const folder = project(t, tarballs, { files: { 'ask.cjs': ask, 'worker.cjs': COMMONJS['worker.cjs'] } });
    const addon = path.join(folder, 'node_modules', `millrace-${platform}`);
    writeFiles(addon, { 'older.cjs': `const addon = require('./millrace.${platform}.node');\n${older}\n` });
    changeManifest(addon, { main: 'older.cjs' });
    const { status, output } = runIn(folder, [process.execPath, 'ask.cjs']);
    t.is(status, 1, output);
    t.true(output.includes('ERR_MILLRACE_BINDING_MISMATCH'), output);
    t.true(output.includes(`is older than the JavaScript: it has no ${lacks}:`), output);
  });
}

/** Changes some of an installed package's package.json. */
function changeManifest(folder, change) {
  const file = path.join(folder, 'package.json');
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...change }));
  return folder;
}
