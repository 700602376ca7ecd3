// Decisions of the runner before anything runs: options, participating peers, numbers of connections.
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { certificate, withoutCertificate } from './certificate.mjs';
import { obstacle } from './limits.mjs';
import { parse, usage } from './options.mjs';
import { choosePeers, handlersOf, participants, peerNames } from './peers.mjs';
import { ringsOf } from './processes.mjs';
import { connectionsOf, loadArgs, scenarios } from './scenarios.mjs';

const named = (name) => scenarios.find((scenario) => scenario.name === name);
const all = peerNames.map((name) => ({
  name,
  principal: ['millrace', 'before', 'bun', 'ws', 'epoll'].includes(name),
  special: ['millrace-2', 'millrace-history', 'millrace-no-uring', 'uring'].includes(name),
  handlers: handlersOf(name),
}));
const peers = all.filter(({ name }) => name !== 'before');
const taking = (scenario, options = {}) => participants(scenario, peers, options).taking.map(({ name }) => name);

test('without options everything is asked for', (t) => {
  const options = parse([]);
  t.deepEqual(
    options.peers,
    peerNames.filter((name) => name !== 'before'),
  );
  for (const { name } of scenarios) t.true(options.scenarios.includes(name), name);
  t.false(options.peersChosen);
});

test('names come separated by commas or repeated, and an unknown one is refused', (t) => {
  const options = parse(['--scenario', 'echo,idle', '--scenario', 'churn', '--peer', 'ws']);
  t.deepEqual(options.scenarios, ['echo', 'idle', 'churn']);
  t.deepEqual(options.peers, ['ws']);
  t.true(options.peersChosen);
  t.throws(() => parse(['--peer', 'apache']), { message: /apache is unknown; there are: millrace / });
  t.throws(() => parse(['--windows', 'many']), { message: /must be a whole number/ });
  t.throws(() => parse(['--frobnicate']));
});

test('the usage names every scenario and every peer', (t) => {
  const words = usage().split(/\s+/);
  for (const name of [...scenarios.map((scenario) => scenario.name), ...peerNames]) t.true(words.includes(name), name);
});

test('every scenario is complete', (t) => {
  const names = scenarios.map(({ name }) => name);
  t.is(new Set(names).size, names.length);
  for (const scenario of scenarios) {
    t.true(['windows', 'once', 'rows'].includes(scenario.kind), scenario.name);
    t.true(handlersOf('millrace').includes(scenario.handler), scenario.name);
    t.true(scenario.columns.length > 0, scenario.name);
    for (const peer of [
      ...(scenario.only ?? []),
      ...(scenario.tolerates ?? []),
      ...Object.keys(scenario.without ?? {}),
    ]) {
      t.true(peerNames.includes(peer), `${scenario.name}: ${peer}`);
    }
    // a server may break a guarantee only if its documentation does not give it
    t.false(scenario.tolerates?.includes('millrace') ?? false, scenario.name);
  }
});

test('who takes part', (t) => {
  t.deepEqual(
    taking(named('echo')),
    peers
      .map(({ name }) => name)
      .filter((name) => !['millrace-2', 'uring'].includes(name) && handlersOf(name).includes('echo')),
  );
  t.deepEqual(taking(named('http-file')), [
    ...['millrace', 'millrace-no-uring', 'bun', 'node-http', 'express', 'nginx'],
  ]);
  // a peer without the handler does not take part even if it is requested
  t.deepEqual(taking(named('http-app'), { peersChosen: true }), [
    ...['millrace', 'millrace-no-uring', 'millrace-2', 'bun', 'node-http', 'express', 'fastify'],
  ]);
  t.deepEqual(taking(named('fanout-all')), ['millrace', 'bun', 'ws', 'epoll']);
  t.deepEqual(taking(named('echo-tls')), ['millrace', 'millrace-no-uring', 'bun', 'ws']);
  for (const name of ['fanout', 'fanout-1k']) t.true(taking(named(name)).includes('millrace-history'), name);
  t.false(taking(named('fanout-1')).includes('millrace-history'));
  t.true(taking(named('cores-echo')).includes('millrace-2'));
  t.false(taking(named('cores-echo')).includes('socketio'));
  t.true(taking(named('fanout-all'), { peersChosen: true }).includes('socketio'));
  const { without } = participants(named('stalled-senders'), peers, {});
  t.true(without.some(({ name, reason }) => name === 'epoll' && reason.length > 0));
});

test('connections: as many as there may be, whole groups in the headline, fewer in a quick run', (t) => {
  t.is(connectionsOf(named('headline-most'), 19_807, {}), 19_800);
  t.is(connectionsOf(named('fanout-all'), 19_807, {}), 19_807);
  t.is(connectionsOf(named('headline-6000'), 19_807, {}), 6000);
  t.is(connectionsOf(named('headline-6000'), 19_807, { quick: true }), 600);
  t.is(connectionsOf(named('echo'), 19_807, {}), undefined);
  t.deepEqual(loadArgs(named('fanout-1k'), 1000, {}), ['fanout', '--connections=1000', '--size=1024']);
  t.deepEqual(loadArgs(named('echo-1'), undefined, {}), ['echo', '--pipeline=1']);
});

test('long echoes have one outstanding, and 16 where the name says so', (t) => {
  for (const kib of [1, 4, 16, 64]) {
    const size = `--size=${kib * 1024}`;
    t.deepEqual(loadArgs(named(`echo-${kib}k`), undefined, {}), ['echo', size, '--pipeline=1']);
    // 16 are the generator's own number
    t.deepEqual(loadArgs(named(`echo-${kib}k-16`), undefined, {}), ['echo', size]);
    t.true(named(`echo-${kib}k-16`).title.endsWith('× 16'));
  }
});

test('the server without io_uring stands beside the usual one where there is a goal, and is never Millrace itself', (t) => {
  const goals = ['headline', 'headline-6000', 'headline-most', 'echo', 'echo-1', 'fanout', 'fanout-1', 'idle', 'churn'];
  for (const name of [...goals, ...[1, 4, 16, 64].flatMap((kib) => [`echo-${kib}k`, `echo-${kib}k-16`])]) {
    const names = taking(named(name));
    t.true(names.includes('millrace-no-uring') && names.includes('bun') && names.includes('epoll'), name);
  }
  t.false(taking(named('fanout-all')).includes('millrace-no-uring'));
  const options = { peers: ['millrace', 'millrace-no-uring'], threads: 1, ioThreads: 1 };
  const { peers: chosen } = choosePeers(options, {});
  const commands = Object.fromEntries(chosen.map(({ name, command }) => [name, command]));
  for (const handler of ['echo', 'http-file']) {
    t.true(commands['millrace-no-uring']?.(handler).includes('--io-uring=no') ?? true);
    t.false(commands.millrace?.(handler).includes('--io-uring=no') ?? false);
  }
});

test('over TLS the servers and the generator have the same certificate', (t) => {
  const reason = withoutCertificate();
  t.is(obstacle(named('echo-tls'), {}, 100), reason);
  if (reason !== undefined) return;
  const [trusted] = loadArgs(named('echo-tls'), undefined, {}).filter((arg) => arg.startsWith('--tls-ca='));
  t.is(trusted, `--tls-ca=${certificate()}/cert.pem`);
  t.true(existsSync(`${certificate()}/key.pem`));
  const { peers: chosen } = choosePeers({ peers: ['ws'] }, {});
  const command = chosen[0].command('echo-tls');
  t.true(command.includes('--handler=echo') && command.includes(`--tls=${certificate()}`));
  t.false(chosen[0].command('echo').some((arg) => arg.startsWith('--tls=')));
});

test('with compression the generator offers it, and each server has the handler that compresses', (t) => {
  const publications = named('fanout-1k-deflate');
  t.deepEqual(loadArgs(publications, 1000, {}), ['fanout', '--connections=1000', '--size=1024', '--compression']);
  t.deepEqual(loadArgs(named('idle-deflate'), 5, { quick: true }).slice(0, 2), ['idle', '--connections=5']);
  t.deepEqual(
    taking(publications).filter((name) => name !== 'uwebsockets'),
    ['millrace', 'millrace-no-uring', 'bun', 'ws'],
  );
  const { peers: chosen } = choosePeers({ peers: ['ws'] }, {});
  const [handler, compression] = chosen[0].command('fanout-deflate').slice(-2);
  t.deepEqual([handler, compression], ['--handler=fanout', '--compression=yes']);
  t.false(chosen[0].command('fanout').some((arg) => arg.startsWith('--compression')));
});

test('a variable names the folder of a package that is installed elsewhere', (t) => {
  process.env.WARPSOCKET = '/nowhere';
  try {
    const { peers: chosen, absent } = choosePeers({ peers: ['warpsocket'] }, {});
    t.deepEqual(chosen, []);
    t.deepEqual(absent, [{ name: 'warpsocket', reason: 'WARPSOCKET names no folder of the package warpsocket' }]);
  } finally {
    delete process.env.WARPSOCKET;
  }
});

test('another checkout is measured if it is named and complete', (t) => {
  t.deepEqual(parse(['--peer', 'bun', '--before', '..']).peers, ['bun', 'before']);
  t.true(parse(['--before', '..']).peers.includes('before'));
  const reason = (before) => choosePeers({ peers: ['before'], before }, {}).absent[0]?.reason;
  t.is(reason(undefined), 'it needs --before DIR, another checkout of Millrace');
  t.is(reason('/nowhere'), '/nowhere is not built: npm run build');
  const other = mkdtempSync(join(tmpdir(), 'millrace-before-'));
  t.teardown(() => rmSync(other, { recursive: true }));
  mkdirSync(join(other, 'js/dist'), { recursive: true });
  writeFileSync(join(other, 'js/dist/index.mjs'), '');
  t.regex(reason(other), /^the benchmark of .* has no packages; there: npm run bench/);
  const packages = join(other, 'benchmark/peers/node_modules');
  mkdirSync(packages, { recursive: true });
  symlinkSync(other, join(packages, 'millrace'), 'dir');
  const [before] = choosePeers({ peers: ['before'], before: other, threads: 1, ioThreads: 1 }, {}).peers;
  for (const name of ['fanout-all', 'splice', 'echo-1']) {
    t.true(
      participants(named(name), all, {}).taking.some((peer) => peer.name === 'before'),
      name,
    );
  }
  t.true(before.command('echo')[1].startsWith(other));
});

test('a process that has gone has no rings', (t) => {
  t.is(ringsOf(2 ** 30), 0);
});
