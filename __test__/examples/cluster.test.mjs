// The cluster example: the chat on two nodes, with a Redis of its own or over NATS.
import { mkdtemp, symlink } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import test from 'ava';

import { toolPath } from '../../scripts/optional-tools.mjs';
import { join } from '../support/chatter.mjs';
import { until } from '../support/deadline.mjs';
import { Example } from '../support/example.mjs';
import { Nats, needingNats } from '../support/nats.mjs';
import { needing } from '../support/needing.mjs';
import { removeWith } from '../support/teardown.mjs';

needing(test, 'redis-server')('what is said on one node is read on the other', async (t) => {
  const folder = removeWith(t, await mkdtemp(path.join(os.tmpdir(), 'millrace-cluster-')));
  // under the name that the example starts, and with whatever else may stand in for it
  await symlink(toolPath('redis-server'), path.join(folder, 'redis-server'));
  await talk(t, [], { PATH: `${folder}${path.delimiter}${process.env.PATH}` });
});

needingNats(test)('the same over NATS', async (t) => {
  const nats = await Nats.withStreams(t);
  await talk(t, ['--backplane', nats.url], {});
});

/** Two nodes of the chat, whose visitors hear and see each other. */
async function talk(t, args, env) {
  const words = ['--port', '0', ...args];
  const cluster = await Example.start('examples/cluster/main.mjs', words, env, /(http:\S+)\n.*http:\S+\n/s);
  // asked rather than killed: it has processes of its own to end
  t.teardown(() => cluster.end());
  const urls = [...cluster.output.matchAll(/^Chat example: (http:\S+)$/gm)].map(([, url]) => new URL(url).host);
  t.is(urls.length, 2);
  const [anna, ben] = [await join(t, urls[0], 'lobby', 'Anna'), await join(t, urls[1], 'lobby', 'Ben')];
  t.not(anna.client.socketId, ben.client.socketId);
  // the nodes may not know yet that there are subscribers
  await until(async () => {
    await anna.say('hello');
    return ben.heard.length > 0;
  }, 'a message on the other node');
  t.is(ben.heard[0], '<Anna>\thello');
  const { publications } = await ben.subscription.history();
  t.is(publications[0].data, '<Anna>\thello');
  const names = async () => (await ben.subscription.presence()).map(({ info }) => info.name).sort();
  await until(async () => (await names()).join() === 'Anna,Ben', 'the members of both nodes');
  t.is(await cluster.end(), 0);
}
