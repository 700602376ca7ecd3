// The servers: how each is started for a handler, and whether it can be.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { installedVersion, peersFolder, rootFolder } from './build.mjs';

const table = {
  millrace: {
    version: () => installedVersion('millrace'),
    absence: () => (existsSync(join(rootFolder, 'js/dist/index.mjs')) ? undefined : 'it is not built: npm run build'),
    command: (handler, { threads, ioThreads }) => [
      process.execPath,
      join(peersFolder, 'millrace/server.mjs'),
      `--handler=${handler}`,
      `--threads=${threads}`,
      `--io-threads=${ioThreads}`,
    ],
  },
  bun: {
    version: () => installedVersion('bun'),
    absence: () => (bun() ? undefined : 'its package has no program for this machine'),
    command: (handler) => [bun(), join(peersFolder, 'bun.mjs'), `--handler=${handler}`],
  },
  ws: {
    version: () => installedVersion('ws'),
    absence: () => undefined,
    command: (handler) => [process.execPath, join(peersFolder, 'ws.mjs'), `--handler=${handler}`],
  },
  floor: {
    version: () => 'this commit',
    absence: () => undefined,
    command: (handler, _options, binaries) => [binaries.floor, `--handler=${handler}`],
  },
};

export const peerNames = Object.keys(table);

/** The peers that were asked for and can run, and those that cannot, with the reason. */
export function choosePeers(options, binaries) {
  const peers = [];
  const absent = [];
  for (const name of peerNames.filter((name) => options.peers.includes(name))) {
    const { version, absence, command } = table[name];
    const reason = absence();
    if (reason) absent.push({ name, reason });
    else peers.push({ name, version: version(), command: (handler) => command(handler, options, binaries) });
  }
  return { peers, absent };
}

/** Bun's program: in the platform's package, unless its install script has moved it to `bun`. */
function bun() {
  const modules = join(peersFolder, 'node_modules');
  const scope = join(modules, '@oven');
  const packages = existsSync(scope) ? readdirSync(scope).sort() : [];
  const paths = [...packages.map((name) => join(scope, name, 'bin/bun')), join(modules, 'bun/bin/bun.exe')];
  // without the script the second is a small file that only complains
  return paths.find((path) => existsSync(path) && statSync(path).size > 1_000_000);
}
