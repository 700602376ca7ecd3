// Channels with history on two nodes that reach their Redis by TLS, with certificates of their own, as a user who may do no
// more than docs/scaling.md says.
import { readFileSync } from 'node:fs';
import test from 'ava';

import { Authority } from '../support/certificates.mjs';
import { until } from '../support/deadline.mjs';
import { CHANNELS, Follower, mortalNodes } from '../support/history-nodes.mjs';
import { needing } from '../support/needing.mjs';
import { freePort } from '../support/ports.mjs';
import { needingRedis, Redis } from '../support/redis.mjs';
import { speak } from '../support/v1.mjs';

const authority = Authority.of(test);
const GUIDE = new URL('../../docs/scaling.md', import.meta.url);

/** The rights of the guide's `ACL SETUSER`. */
function rightsOf(guide) {
  const [, text] = /ACL SETUSER node on >password ([^`]*)```/.exec(guide);
  return text.split(/\s/).filter(Boolean);
}

needing(needingRedis(test), 'openssl')('a user with the rights of the guide is enough, over TLS', async (t) => {
  const { files } = await authority.issue();
  const node = await authority.issue({ client: true, names: ['node'] });
  const port = await freePort();
  const ca = authority.file('ca.pem');
  const tls = ['--tls-port', String(port), '--tls-cert-file', files.cert, '--tls-key-file', files.key];
  const rights = rightsOf(readFileSync(GUIDE, 'utf8'));
  await Redis.with(t, [
    ...[...tls, '--tls-ca-cert-file', ca, '--tls-auth-clients', 'yes'],
    ...['--user', 'node', 'on', '>password', ...rights],
  ]);
  const url = `rediss://node:password@localhost:${port}`;
  const nodes = await mortalNodes(t, url, {
    backplane: { url, waitMs: 60_000, tls: { ca, ...node.files } },
    channels: [...CHANNELS, ['members:*', { presence: true, clients: { subscribe: true } }]],
  });
  const [here, there] = nodes;
  const far = await Follower.enter(t, there, 'room:1');
  for (let n = 0; n < 10; n++) await nodes[n % 2].call('publish', 'room:1', `${n}`, { idempotencyKey: `${n}` });
  await far.has(10);
  t.deepEqual(
    far.payloads,
    Array.from({ length: 10 }, (_, n) => `${n}`),
  );
  t.is((await here.call('history', 'room:1', { limit: 3 })).publications.length, 3);
  far.cut();
  const back = await Follower.enter(t, here, 'room:1', { since: { ...far.position, o: 4 } });
  t.true(back.answer.recovered);
  await back.has(6);
  const plain = await Follower.enter(t, there, 'room:plain');
  await here.call('send', 'room:plain', 'sent');
  await plain.has(1);
  const members = await Promise.all(nodes.map((one) => speak(t, one)));
  for (const member of members) await member.subscribe('members:1');
  const count = async (one) => (await one.call('presenceCount', 'members:1')).sockets;
  const areCounted = (sockets) =>
    until(async () => (await Promise.all(nodes.map(count))).every((one) => one === sockets), `${sockets} members`);
  await areCounted(2);
  members[0].ws.terminate();
  await areCounted(1);
  for (const one of nodes) {
    t.deepEqual(await one.errors(), []);
    t.like((await one.call('stats')).backplane, { refused: 0, pendingSubscriptions: 0, history: { failed: 0 } });
  }
});
