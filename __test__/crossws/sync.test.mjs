// The option `sync`: instances in one process, and no worker threads.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { ownServer } from '../support/server.mjs';
import { connect } from '../support/ws-client.mjs';

const run = (server, ...given) => server.run('crossws-instances', ...given);

test('a sync driver passes publications to other instances, and not back', async (t) => {
  const server = await ownServer(t);
  const one = await connect(t, await run(server, 'start', 'one', 'shared'), { path: '/chat' });
  const two = await connect(t, await run(server, 'start', 'two', 'shared'), { path: '/chat' });
  const far = await connect(t, await run(server, 'start', 'three', undefined), { path: '/chat' });
  one.send('from one');
  t.is(await two.text(), 'from one');
  two.send(Buffer.from([1, 2]));
  t.deepEqual(await one.next(), { kind: 'binary', data: Buffer.from([1, 2]) });
  t.deepEqual([one.inbox, two.inbox, far.inbox], [[], [], []]);
  t.true(await run(server, 'stop', 'one'));
  await until(() => one.closeFrame, 'a close frame');
  t.deepEqual(one.closeFrame, { code: 1000, reason: 'shutting down' });
  t.true(await run(server, 'stop', 'two'));
  t.false(await run(server, 'stop', 'three'));
});

test('failures of a sync driver are reported to onError and not thrown', async (t) => {
  const server = await ownServer(t);
  t.deepEqual(await run(server, 'failing'), ['subscribe: no backplane', 'publish: no backplane']);
});
