// Channels with history on nodes that prove to a NATS who they are, as the plain link can: with certificates, with keys, with
// a credentials file, and at the second of two servers.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';

import { Authority } from '../support/certificates.mjs';
import { until } from '../support/deadline.mjs';
import { folderFor } from '../support/files.mjs';
import { Follower, nodeOptions } from '../support/history-nodes.mjs';
import { Nats, needingNats } from '../support/nats.mjs';
import { needing } from '../support/needing.mjs';
import { credentialsFile, newKey, newToken } from '../support/nkeys.mjs';
import { freePort } from '../support/ports.mjs';
import { ownServer } from '../support/server.mjs';

const withNats = needingNats(test.serial);
const authority = Authority.of(test);

const nodeOf = (t, backplane) => ownServer(t, { ...nodeOptions(''), backplane });

async function configured(t, text, accounts = []) {
  const config = path.join(folderFor(t, {}), 'nats.conf');
  await writeFile(config, text);
  return Nats.withStreams(t, ['--config', config], accounts);
}

/** Two nodes with this backplane share a channel; one with `other` is told why it cannot. */
async function shares(t, backplane, other, said) {
  const [here, there] = [await nodeOf(t, backplane), await nodeOf(t, backplane)];
  // a subscription that comes after a first attempt in vain, and before the second, is refused
  const isReady = async (node) => (await node.call('stats')).backplane.history.state === 'ready';
  await until(async () => (await isReady(here)) && isReady(there), 'both nodes to reach the store');
  const follower = await Follower.enter(t, there, 'room:1');
  const { position } = await here.call('publish', 'room:1', 'hello');
  t.is(position.offset, 1);
  await follower.has(1);
  t.deepEqual(follower.got, [[1, 'hello']]);
  const refused = await nodeOf(t, other);
  const isTold = ({ code, message }) => code === 'ERR_MILLRACE_HISTORY_UNAVAILABLE' && said.test(message);
  await until(async () => (await refused.errors()).some(isTold), 'the report');
  await t.throwsAsync(refused.call('publish', 'room:1', 'x'), { code: 'ERR_MILLRACE_HISTORY_UNAVAILABLE' });
}

needing(withNats, 'openssl')('TLS, with certificates on both sides', async (t) => {
  const { files } = await authority.issue();
  const own = await authority.issue({ client: true, names: ['node'] });
  const ca = authority.file('ca.pem');
  const tls = ['--tlscert', files.cert, '--tlskey', files.key, '--tlscacert', ca, '--tlsverify'];
  const nats = await Nats.withStreams(t, tls);
  const url = `tls://localhost:${nats.port}`;
  await shares(t, { url, tls: { ca, ...own.files } }, { url, tls: { ca } }, /certificate/i);
});

withNats('the key of a user, and the second of two servers', async (t) => {
  const [user, stranger] = [newKey('user'), newKey('user')];
  const nats = await configured(t, `authorization { users = [ { nkey: ${user.public} } ] }`);
  const url = `nats://127.0.0.1:${await freePort()},127.0.0.1:${nats.port}`;
  await shares(t, { url, nkey: user.seed }, { url: nats.url, nkey: stranger.seed }, /[Aa]uthorization/);
});

withNats('a user with a password', async (t) => {
  const { url } = await configured(t, 'authorization { user: me, password: mine }');
  const login = (password) => ({ url, user: 'me', password });
  await shares(t, login('mine'), login('other'), /[Aa]uthorization/);
});

withNats('a token', async (t) => {
  const { url } = await configured(t, 'authorization { token: secret }');
  await shares(t, { url, token: 'secret' }, { url, token: 'other' }, /[Aa]uthorization/);
});

withNats('a credentials file, of an account with and one without JetStream', async (t) => {
  const [operator, system, account, poor, user] = ['operator', 'account', 'account', 'account', 'user'].map(newKey);
  const unlimited = { subs: -1, conn: -1, leaf: -1, imports: -1, exports: -1, data: -1, payload: -1, wildcards: true };
  const streams = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
  const accountToken = (key, name, limits) => newToken(operator, key, name, { type: 'account', limits });
  const userToken = (of) =>
    newToken(of, user, 'node', { type: 'user', ...{ pub: {}, sub: {}, subs: -1, data: -1, payload: -1 } });
  const nats = await configured(
    t,
    `operator: ${newToken(operator, operator, 'us', { type: 'operator' })}
system_account: ${system.public}
resolver: MEMORY
resolver_preload: {
  ${system.public}: ${accountToken(system, 'system', unlimited)}
  ${account.public}: ${accountToken(account, 'chat', { ...unlimited, ...streams })}
  ${poor.public}: ${accountToken(poor, 'poor', unlimited)}
}
`,
    [account.public],
  );
  const files = [];
  for (const of of [account, poor]) {
    const file = path.join(folderFor(t, {}), 'node.creds');
    await writeFile(file, credentialsFile(userToken(of), user.seed));
    files.push(file);
  }
  const [credentials, without] = files;
  await shares(t, { url: nats.url, credentials }, { url: nats.url, credentials: without }, /not enabled/);
});
