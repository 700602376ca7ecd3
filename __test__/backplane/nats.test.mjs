// NATS with restricted access: with TLS, and with users who may use only some subjects.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';

import { Authority } from '../support/certificates.mjs';
import { until } from '../support/deadline.mjs';
import { folderFor } from '../support/files.mjs';
import { Nats, needingNats } from '../support/nats.mjs';
import { needing } from '../support/needing.mjs';
import { hears, linkOf, linkThat, startNodes } from '../support/nodes.mjs';
import { ask, open, ownServer, worker } from '../support/server.mjs';
import { encode } from '../support/wire.mjs';

const withNats = needingNats(test.serial);
const authority = Authority.of(test);

async function subscriber(t, node, ...channels) {
  const client = await open(t, node);
  for (const channel of channels) await ask(client, { cmd: 'sub', channel: encode(channel) });
  return client;
}

const next = async (client) => (await client.next()).data;

needing(withNats, 'openssl')('TLS, with an authority and certificates of our own', async (t) => {
  const { files } = await authority.issue();
  const own = await authority.issue({ client: true, names: ['node'] });
  const ca = authority.file('ca.pem');
  const tls = ['--tlscert', files.cert, '--tlskey', files.key, '--tlscacert', ca, '--tlsverify'];
  const nats = await Nats.with(t, tls);
  const nodes = await startNodes(t, { url: `tls://localhost:${nats.port}`, tls: { ca, ...own.files } });
  const far = await subscriber(t, nodes[1], 'room');
  await hears(nodes[1], 1);
  await nodes[0].call('send', 'room', 'x'.repeat(100_000));
  t.is((await next(far)).length, 100_000);
  for (const [backplane, said] of [
    [{ url: `tls://localhost:${nats.port}`, tls: { ca } }, /certificate/i],
    [`tls://localhost:${nats.port}`, /UnknownIssuer/],
    [nats.url, /./],
  ]) {
    const refused = await ownServer(t, { workerPath: worker('backplane'), threads: 1, ioThreads: 1, backplane });
    const lost = await until(
      async () => (await refused.errors()).find(({ code }) => code === 'ERR_MILLRACE_BACKPLANE_LOST'),
      'the report',
    );
    t.regex(lost.message, said);
    t.is((await linkOf(refused)).state, 'connecting');
  }
});

const USERS = `
authorization {
  users = [{
    user: me, password: mine
    permissions: {
      publish: { allow: ["millrace.>", "millrace!nodes"], deny: ["millrace.authorization", "millrace.mute"] }
      subscribe: { allow: ["millrace!nodes", "millrace.open", "millrace.mute"] }
    }
  }]
}
`;

withNats('what a user may not have is refused, whatever it is called, and the rest works', async (t) => {
  const folder = folderFor(t, {});
  const config = path.join(folder, 'nats.conf');
  await writeFile(config, USERS);
  const nats = await Nats.with(t, ['--config', config]);
  const nodes = await startNodes(t, `nats://me:mine@127.0.0.1:${nats.port}`);
  const long = `authentication/${'x'.repeat(300)}`;
  const client = await subscriber(t, nodes[1], 'open', 'authorization', long, { pattern: 'a*' }, { pattern: 'b*' });
  await linkThat(nodes[1], 'was refused four times', (link) => link.refused === 4 && link.subscriptions === 2);
  t.like(await linkOf(nodes[1]), { pendingSubscriptions: 4, losses: 0, state: 'ready' });
  for (const channel of ['authorization', 'mute']) await nodes[0].call('send', channel, 'nowhere');
  await nodes[0].call('send', 'open', 'hello');
  t.is(await next(client), 'hello');
  await linkThat(nodes[0], 'has sent one', (link) => link.sent === 1 && link.refused === 2 && link.inFlight === 0);
  await nodes[1].call('send', 'authorization', 'here');
  t.is(await next(client), 'here');
  for (const node of nodes) {
    t.is((await linkOf(node)).losses, 0);
    const codes = (await node.errors()).map(({ code }) => code);
    t.deepEqual([...new Set(codes)], ['ERR_MILLRACE_BACKPLANE_REFUSED']);
  }
});
