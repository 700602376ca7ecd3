// The servers: how to start each for a handler, and whether it is available.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { toolPath, whatIsMissing } from '../../scripts/optional-tools.mjs';
import { installedVersion, peersFolder, rootFolder } from './build.mjs';
import { certificate } from './certificate.mjs';
import { packageOf, socketyModule } from './sockety-module.mjs';

/** A program in the peers' folder that Node runs. */
function node(file, ...args) {
  return nodeIn(peersFolder, file, ...args);
}

function nodeIn(folder, file, ...args) {
  return (handler) => [process.execPath, join(folder, file), ...told(handler), ...args];
}

/** What a program is told about its handler: that of `echo-tls` is `echo`, over TLS, that of `echo-deflate` compresses. */
function told(handler) {
  if (handler === 'echo-tls') return ['--handler=echo', `--tls=${certificate()}`];
  const plain = handler.replace('-deflate', '');
  return [`--handler=${plain}`, ...(plain === handler ? [] : ['--compression=yes'])];
}

/** The handlers of every socket server, and those that HTTP servers may have. */
const sockets = ['echo', 'headline', 'fanout', 'channels'];
const secure = ['echo-tls'];
const deflating = ['echo-deflate', 'fanout-deflate'];
const http = ['http-file', 'http-fetch', 'http-app'];
const qjs = ['qjs', 'qjs-fetch'];

/** The programs of node:http beside that of HTTP. */
const nodeHttp = { sockety: 'sockety/http1-server.mjs', qjs: 'qjs/node.mjs' };

function millrace(threads, ioThreads, ...more) {
  return millraceIn(peersFolder, threads, ioThreads, ...more);
}

function millraceIn(folder, threads, ioThreads, ...more) {
  const counts = [`--threads=${threads}`, `--io-threads=${ioThreads}`, ...more];
  const server = (name) => nodeIn(folder, `millrace/${name}.mjs`, ...counts);
  const [overSockets, overHttp] = ['server', 'http-server'].map(server);
  const overSockety = nodeIn(folder, 'sockety/millrace.mjs', ...counts);
  const overSplice = nodeIn(folder, 'splice/millrace.mjs', `--io-threads=${ioThreads}`);
  return {
    handlers: [...sockets, ...secure, ...deflating, ...http, ...qjs, 'sockety', 'splice', 'histories'],
    version: () => installedVersion('millrace'),
    absence: () => (existsSync(join(rootFolder, 'js/dist/index.mjs')) ? undefined : 'it is not built: npm run build'),
    command(handler) {
      if (handler === 'sockety') return overSockety(handler);
      if (handler === 'splice') return overSplice(handler);
      return ([...http, ...qjs].includes(handler) ? overHttp : overSockets)(handler);
    },
  };
}

/** Another checkout of Millrace, to be measured in turns with this one. */
function before({ before: root, threads, ioThreads }) {
  const folder = resolve(root ?? '.', 'benchmark/peers');
  return {
    ...millraceIn(folder, threads, ioThreads),
    absence: () => whyNotBefore(root, folder),
    note: `Millrace as it is in ${root}`,
  };
}

/** Why another checkout cannot be measured; undefined: it can. */
function whyNotBefore(root, folder) {
  if (root === undefined) return 'it needs --before DIR, another checkout of Millrace';
  if (!existsSync(join(root, 'js/dist/index.mjs'))) return `${root} is not built: npm run build`;
  const link = join(folder, 'node_modules/millrace');
  if (existsSync(link) && realpathSync(link) === realpathSync(root)) return undefined;
  return `the benchmark of ${root} has no packages; there: npm run bench -- --quick --scenario echo`;
}

/** A package that this benchmark does not install, but uses if the user has it; a variable may name its folder. */
function optional(name, file, variable) {
  const named = variable && process.env[variable];
  const manifest = named ? join(resolve(named), 'package.json') : findManifest(name);
  const missing = named
    ? `${variable} names no folder of the package ${name}`
    : `the package ${name} is not installed (see benchmark/README.md)`;
  return {
    version: () => JSON.parse(readFileSync(manifest, 'utf8')).version,
    absence: () => (manifest && existsSync(manifest) ? undefined : missing),
    command: node(file, ...(named ? [`--package=${resolve(named)}`] : [])),
  };
}

/**
 * In the order of the tables. `principal`: takes part everywhere; the others leave out scenarios that are `principal`.
 * `special`: takes part only where a scenario names it. `handlers`: those it has, if not exactly those of sockets.
 * `load`: the generator's arguments for this server. `note`: what readers of its figures must know.
 */
const table = (options, binaries) => ({
  millrace: { principal: true, ...millrace(options.threads, options.ioThreads) },
  'millrace-no-uring': {
    special: true,
    ...millrace(options.threads, options.ioThreads, '--io-uring=no'),
    handlers: [...sockets, ...secure, ...deflating, ...http],
    note: 'Millrace with `ioUring: false`, as in most containers',
  },
  'millrace-history': {
    special: true,
    ...millrace(options.threads, options.ioThreads, '--history=yes'),
    handlers: ['fanout'],
    note: 'Millrace with channels that keep their last 100 messages',
  },
  'millrace-2': { special: true, ...millrace(2, 2), note: 'Millrace with two I/O threads and two workers' },
  before: { principal: true, ...before(options) },
  bun: {
    principal: true,
    version: () => installedVersion('bun'),
    absence: () => (bun() ? undefined : 'its package has no program for this machine'),
    handlers: [...sockets, ...secure, ...deflating, ...http],
    command: (handler) => [bun(), file(handler, 'bun.mjs'), ...told(handler)],
  },
  uwebsockets: {
    principal: true,
    handlers: [...sockets, ...deflating],
    ...optional('uWebSockets.js', 'uwebsockets.mjs', 'UWEBSOCKETS'),
  },
  deno: {
    version: () => installedVersion('deno'),
    absence: () => (deno() ? undefined : 'its package has no program for this machine'),
    handlers: [...sockets, 'http-fetch'],
    command: (handler) => [
      ...[deno(), 'run', '--allow-net', '--no-prompt', '--no-config', '--no-lock', '--no-npm'],
      ...[file(handler, 'deno.mjs'), `--handler=${handler}`],
    ],
  },
  ws: {
    principal: true,
    version: () => installedVersion('ws'),
    absence: () => undefined,
    handlers: [...sockets, ...secure, ...deflating],
    command: node('ws/single.mjs'),
  },
  'ws-cluster': {
    version: () => installedVersion('ws'),
    absence: () => undefined,
    command: node('ws/cluster.mjs', `--processes=${options.processes}`),
    load: ['--tolerant'],
    note:
      `\`ws\` in ${options.processes} processes under node:cluster; a publication goes to the other processes through the ` +
      'primary, so members of one channel may see its messages in different orders',
  },
  socketio: {
    version: () => installedVersion('socket.io'),
    absence: () => undefined,
    command: node('socketio.mjs'),
    load: ['--dialect=socketio'],
    note: "Socket.IO's own framing over WebSocket, one event with one argument, rooms for channels",
  },
  warpsocket: optional('warpsocket', 'warpsocket/server.mjs', 'WARPSOCKET'),
  fastwebsockets: {
    version: () => binaries.versions.fastwebsockets,
    absence: () => undefined,
    command: (handler) => [binaries.fastwebsockets, `--handler=${handler}`],
    note: 'a bare Rust server with the fastwebsockets and hyper crates: no JavaScript, no limits',
  },
  epoll: {
    principal: true,
    version: () => 'this commit',
    absence: () => undefined,
    handlers: [...sockets, 'splice', 'count'],
    // it is not a multiplexer: in `splice` it is the target, reached directly
    command: (handler) => [binaries.epoll, `--handler=${handler === 'splice' ? 'echo' : handler}`],
    note: 'a bare epoll loop in Rust: no JavaScript, no limits, no checks; what the kernel alone costs',
  },
  uring: {
    special: true,
    version: () => 'this commit',
    absence: () => (ringsAllowed() ? undefined : 'the kernel does not allow io_uring'),
    command: (handler) => [binaries.uring, `--handler=${handler}`],
    note: 'the bare loop by io_uring with multishot receives and provided buffers: what such a ring would gain',
  },
  sockety: {
    ...optional(packageOf(socketyModule()), 'sockety/original.mjs'),
    handlers: ['sockety'],
    command: node('sockety/original.mjs', `--module=${socketyModule()}`),
    note: `the original implementation of Sockety, \`${socketyModule()}\`, in one process`,
  },
  wsplice: {
    special: true,
    handlers: ['splice'],
    version: () => spawnSync(toolPath('wsplice'), ['--version']).stdout.toString().trim(),
    absence: () => whatIsMissing(['wsplice']),
    command: (handler) => node('splice/original.mjs', `--wsplice=${toolPath('wsplice')}`)(handler),
    note: 'the original wsplice, as it is installed',
  },
  'node-http': {
    handlers: [...http, 'qjs', 'sockety'],
    version: () => process.version,
    absence: () => undefined,
    command: (handler) => node(nodeHttp[handler] ?? 'http/node.mjs')(handler),
    note: 'node:http without any package',
  },
  'node-http2': {
    handlers: ['sockety'],
    version: () => process.version,
    absence: () => undefined,
    command: node('sockety/http2-server.mjs'),
    note: 'node:http2 without TLS',
  },
  express: {
    handlers: ['http-file', 'http-app', 'qjs'],
    version: () => installedVersion('express'),
    absence: () => undefined,
    command: (handler) => node(handler === 'qjs' ? 'qjs/express.mjs' : 'http/express.mjs')(handler),
  },
  fastify: {
    handlers: ['http-app'],
    version: () => installedVersion('fastify'),
    absence: () => undefined,
    command: node('http/fastify.mjs'),
  },
  nginx: {
    handlers: ['http-file'],
    version: () => spawnSync(toolPath('nginx'), ['-v']).stderr.toString().trim().split('/')[1],
    absence: () => whatIsMissing(['nginx']),
    command: (handler) => node('http/nginx.mjs', `--nginx=${toolPath('nginx')}`)(handler),
    note: 'nginx in one process, without a log, the descriptor of the file kept open',
  },
});

export const peerNames = Object.keys(table({}, {}));

/** The handlers that a peer has. */
export function handlersOf(name) {
  return table({}, {})[name].handlers ?? sockets;
}

/**
 * The peers that were asked for and can run, and those that cannot, with the reason. `handlers`: only peers that have one of
 * these; undefined: all.
 */
export function choosePeers(options, binaries, handlers) {
  const peers = [];
  const absent = [];
  for (const [name, peer] of Object.entries(table(options, binaries))) {
    if (!options.peers.includes(name)) continue;
    if (handlers && !(peer.handlers ?? sockets).some((each) => handlers.includes(each))) continue;
    const reason = peer.absence();
    if (reason) absent.push({ name, reason });
    else peers.push({ load: [], handlers: sockets, ...peer, name, version: peer.version() });
  }
  return { peers, absent };
}

/** The peers that take part in a scenario, and those that do not, with reasons worth reporting. */
export function participants(scenario, peers, options) {
  const taking = [];
  const without = [];
  const general = (peer) => !peer.special && (peer.principal || !scenario.principal);
  for (const peer of peers) {
    if (!peer.handlers.includes(scenario.handler)) continue;
    // another checkout takes part where this one does
    const name = peer.name === 'before' ? 'millrace' : peer.name;
    const reason = scenario.without?.[peer.name] ?? scenario.without?.[name];
    const usual = scenario.only?.includes(name) ?? (general(peer) || scenario.also?.includes(peer.name));
    if (reason) without.push({ name: peer.name, reason });
    else if (usual || options.peersChosen) taking.push(peer);
  }
  return { taking, without };
}

/** The program of a runtime's peer, for sockets or for HTTP. */
function file(handler, name) {
  return http.includes(handler) ? join(peersFolder, 'http', name) : join(peersFolder, name);
}

/** Whether any process may make a ring. */
function ringsAllowed() {
  const setting = '/proc/sys/kernel/io_uring_disabled';
  return existsSync(setting) && readFileSync(setting, 'utf8').trim() === '0';
}

/** Bun's program: in the platform's package, unless its install script has moved it to `bun`. */
function bun() {
  return program('@oven', 'bin/bun') ?? program('bun', 'bun.exe');
}

/** Deno's program: in the platform's package. */
function deno() {
  return program('@deno', 'deno');
}

/** The first real program of that name in the packages of a scope, or in a package's `bin`. */
function program(scope, name) {
  const folder = join(peersFolder, 'node_modules', scope);
  const packages = existsSync(folder) ? readdirSync(folder).sort() : [];
  const paths = packages.map((each) => join(folder, each, name));
  // if the install script has not run, a small placeholder that only prints an error is there instead
  return paths.find((path) => existsSync(path) && statSync(path).size > 1_000_000);
}

/** The manifest of a package where Node would look for it from the peers' folder. */
function findManifest(name) {
  for (let folder = peersFolder; folder !== dirname(folder); folder = dirname(folder)) {
    const path = join(folder, 'node_modules', name, 'package.json');
    if (existsSync(path)) return path;
  }
  return undefined;
}
