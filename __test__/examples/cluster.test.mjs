// The cluster example: the chat on two nodes, and a Redis of its own.
import { mkdtemp, symlink } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import test from 'ava';

import { toolPath } from '../../scripts/optional-tools.mjs';
import { until } from '../support/deadline.mjs';
import { Example } from '../support/example.mjs';
import { needing } from '../support/needing.mjs';
import { removeWith } from '../support/teardown.mjs';
import { connect } from '../support/ws-client.mjs';

needing(test, 'redis-server')('what is said on one node is read on the other', async (t) => {
  const folder = removeWith(t, await mkdtemp(path.join(os.tmpdir(), 'millrace-cluster-')));
  // under the name that the example starts, and with whatever else may stand in for it
  await symlink(toolPath('redis-server'), path.join(folder, 'redis-server'));
  const env = { PATH: `${folder}${path.delimiter}${process.env.PATH}` };
  const cluster = await Example.start('examples/cluster/main.mjs', ['--port', '0'], env, /(http:\S+)\n.*http:\S+\n/s);
  // asked rather than killed: it has processes of its own to end
  t.teardown(() => cluster.end());
  const urls = [...cluster.output.matchAll(/^Chat example: (http:\S+)$/gm)].map(([, url]) => new URL(url).host);
  t.is(urls.length, 2);
  const [anna, ben] = await Promise.all(urls.map((address) => connect(t, address, { path: '/socket' })));
  const join = (client, alias) => client.send(JSON.stringify({ type: 'join', alias, room: 'lobby' }));
  const next = async (client, type) => {
    for (;;) {
      const message = await client.json();
      if (message.type === type) return message;
    }
  };
  join(anna, 'Anna');
  const me = await next(anna, 'joined');
  join(ben, 'Ben');
  const him = await next(ben, 'joined');
  t.not(me.id, him.id);
  // the nodes may not know yet that somebody listens
  await until(async () => {
    anna.send(JSON.stringify({ type: 'message', body: 'hello' }));
    await next(anna, 'chat-message');
    return ben.inbox.length > 0;
  }, 'a message on the other node');
  const message = await next(ben, 'chat-message');
  t.like(message, { alias: 'Anna', body: 'hello', from: me.id });
  t.is(await cluster.end(), 0);
});
