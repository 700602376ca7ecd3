// The configuration of ava.

/** Files that take longest. They start first, so that none of them runs alone at the end. */
const LONGEST = [
  'runtimes/workers',
  'backplane/nats-cluster',
  'bundles/tools',
  'gateway/promises',
  'workers/workers',
  'client/faults',
  'package/package',
  'presence/nodes-nats-lost',
  'runtimes/runtimes',
  'presence/nodes-lost',
  'http/keep-alive',
  'gateway/stop',
  'gateway/limits',
  'fetch/runtimes',
  'warpsocket/messages',
  'client/proxy-faults',
  'crossws/nitro',
  'node/runtimes',
];

function rank(file) {
  const index = LONGEST.findIndex((name) => file.replaceAll('\\', '/').endsWith(`/${name}.test.mjs`));
  return index === -1 ? LONGEST.length : index;
}

export default {
  files: ['__test__/**/*.test.mjs', 'scripts/*.test.mjs', 'benchmark/runner/*.test.mjs'],
  concurrency: 2,
  timeout: '10m',
  workerThreads: false,
  nodeArguments: ['--enable-source-maps'],
  sortTestFiles: (one, other) => rank(one) - rank(other) || one.localeCompare(other),
};
