// NATS with keys and tokens, and clusters whose servers tell of each other.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { folderFor } from '../support/files.mjs';
import { Nats, needingNats } from '../support/nats.mjs';
import { credentialsFile, newKey, newToken } from '../support/nkeys.mjs';
import { hears, linkOf, linkThat, startNodes } from '../support/nodes.mjs';
import { freePort } from '../support/ports.mjs';
import { ask, open, ownServer, worker } from '../support/server.mjs';
import { encode } from '../support/wire.mjs';

const withNats = needingNats(test.serial);
const options = (backplane) => ({ workerPath: worker('backplane'), threads: 1, ioThreads: 1, backplane });

async function configured(t, text) {
  const config = path.join(folderFor(t, {}), 'nats.conf');
  await writeFile(config, text);
  return Nats.with(t, ['--config', config]);
}

/** Two nodes with this login reach each other; one with another login is refused. */
async function connects(t, nats, login, other, said) {
  const nodes = await startNodes(t, { url: nats.url, ...login });
  const far = await open(t, nodes[1]);
  await ask(far, { cmd: 'sub', channel: encode('room') });
  await hears(nodes[1], 1);
  await nodes[0].call('send', 'room', 'hello');
  t.is((await far.next()).data, 'hello');
  const refused = await ownServer(t, options({ url: nats.url, ...other }));
  const lost = await until(
    async () => (await refused.errors()).find(({ code }) => code === 'ERR_MILLRACE_BACKPLANE_LOST'),
    'the report',
  );
  t.regex(lost.message, said);
}

withNats('the key of a user whom the server knows', async (t) => {
  const [user, stranger] = [newKey('user'), newKey('user')];
  const nats = await configured(t, `authorization { users = [ { nkey: ${user.public} } ] }`);
  await connects(t, nats, { nkey: user.seed }, { nkey: stranger.seed }, /[Aa]uthorization/);
});

withNats('a credentials file with a token that an account has signed', async (t) => {
  const [operator, account, user, stranger] = ['operator', 'account', 'user', 'user'].map(newKey);
  const unlimited = { subs: -1, conn: -1, leaf: -1, imports: -1, exports: -1, data: -1, payload: -1, wildcards: true };
  const accountToken = newToken(operator, account, 'chat', { type: 'account', limits: unlimited });
  const userToken = newToken(account, user, 'node', {
    type: 'user',
    ...{ pub: {}, sub: {}, subs: -1, data: -1, payload: -1 },
  });
  const operatorToken = newToken(operator, operator, 'us', { type: 'operator' });
  const nats = await configured(
    t,
    `operator: ${operatorToken}\nresolver: MEMORY\nresolver_preload: { ${account.public}: ${accountToken} }\n`,
  );
  const file = path.join(folderFor(t, {}), 'node.creds');
  await writeFile(file, credentialsFile(userToken, user.seed));
  const wrong = Buffer.from(credentialsFile(userToken, stranger.seed));
  await connects(t, nats, { credentials: file }, { credentials: wrong }, /[Aa]uthorization/);
});

withNats('a login that cannot be used is refused by start', async (t) => {
  const url = `nats://127.0.0.1:${await freePort()}`;
  const { seed } = newKey('user');
  const mistyped = `${seed.slice(0, -1)}${seed.endsWith('A') ? 'B' : 'A'}`;
  for (const [login, said] of [
    [{ nkey: mistyped }, /options\.backplane\.nkey is not the seed of an NKey/],
    [{ credentials: Buffer.from('-----BEGIN nothing') }, /options\.backplane\.credentials is not a credentials file/],
  ]) {
    const node = await ownServer(t);
    const error = await t.throwsAsync(node.start(options({ url, ...login })));
    t.regex(error.message, said);
    t.notRegex(error.message, new RegExp(seed.slice(0, 20)));
  }
});

withNats('a cluster of which one server is named is used as a whole', async (t) => {
  const ports = await Promise.all([freePort(), freePort()]);
  const routes = ports.map((port) => `nats-route://127.0.0.1:${port}`).join(',');
  const servers = [];
  for (const port of ports) {
    const cluster = ['--cluster_name', 'chat', '--cluster', `nats-route://127.0.0.1:${port}`, '--routes', routes];
    servers.push(await Nats.with(t, cluster));
  }
  const nodes = await startNodes(t, servers[0].url);
  const far = await open(t, nodes[1]);
  await ask(far, { cmd: 'sub', channel: encode('room') });
  await hears(nodes[1], 1);
  await nodes[0].call('send', 'room', 'before');
  t.is((await far.next()).data, 'before');
  await servers[0].stop();
  for (const node of nodes) {
    await linkThat(node, 'has another server', (link) => link.state === 'ready' && link.losses >= 1);
  }
  await hears(nodes[1], 1);
  await nodes[0].call('send', 'room', 'behind');
  t.is((await far.next()).data, 'behind');
  t.is((await linkOf(nodes[0])).state, 'ready');
});
