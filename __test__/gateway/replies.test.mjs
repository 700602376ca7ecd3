// Short texts that handlers send to their own socket are posted together: after a short time at most, and before
// anything else that the worker does.
import { existsSync } from 'node:fs';
import path from 'node:path';

import test from 'ava';

import { until } from '../support/deadline.mjs';
import { folderFor } from '../support/files.mjs';
import { ask, open, ownServer, worker } from '../support/server.mjs';
import { connect } from '../support/ws-client.mjs';

test('a slow handler does not delay replies of earlier handlers', async (t) => {
  const folder = folderFor(t, {});
  const server = await ownServer(t, { workerPath: worker('commands'), threads: 1, ioThreads: 1 });
  const clients = [];
  for (let index = 0; index < 5; index++) clients.push(await open(t, server));
  const began = (index) => path.join(folder, `${index}`);
  // each handler keeps its worker busy until its key is set; all wait in one batch behind the first
  const floods = clients.map((ws, index) => {
    return ask(ws, { cmd: 'flood', who: 0, count: 0, prefix: '', after: `turn ${index}`, began: began(index) });
  });
  // the I/O thread may read the sockets in any order
  const left = new Set(floods.keys());
  while (left.size > 0) {
    const first = () => [...left].filter((index) => existsSync(began(index)));
    const [index] = await until(
      () => first().length > 0 && first(),
      () => `one of the handlers ${[...left]} to begin`,
    );
    // slow enough to be seen as slow, and each reply is awaited before the next handler may end
    await new Promise((resolve) => setTimeout(resolve, 20));
    await server.call('setKey', `turn ${index}`, 'now');
    t.is(await floods[index], 0);
    left.delete(index);
  }
});

test('a reply is sent before the Close frame when its handler stops the server', async (t) => {
  const server = await ownServer(t);
  const [address] = await server.run('stop-from-handler', worker('stopper'));
  const clients = [];
  for (let index = 0; index < 10; index++) clients.push(await connect(t, address));
  clients[0].send('stop');
  t.is(await clients[0].text(), 'goodbye');
  for (const ws of clients) t.is((await ws.closed()).code, 1001);
});

test('a reply to a socket that closed meanwhile is counted', async (t) => {
  // its end waits for the handler of its message, and not for long
  const limits = { closeTimeoutMs: 500, workerTimeoutMs: 0 };
  const server = await ownServer(t, { workerPath: worker('commands'), threads: 1, ioThreads: 1, limits });
  const [one, two] = [await open(t, server), await open(t, server)];
  const before = await server.call('stats');
  // while the worker is busy, a message arrives and its sender disconnects
  const began = path.join(folderFor(t, {}), 'began');
  const busy = ask(two, { cmd: 'flood', who: 0, count: 0, prefix: '', after: 'go', began });
  await until(() => existsSync(began), 'the worker to be busy');
  one.send(JSON.stringify({ cmd: 'ping', n: 1 }));
  one.destroy();
  await until(async () => (await server.call('stats')).sockets < before.sockets, 'the end of the socket');
  await server.call('setKey', 'go', 'now');
  await busy;
  // the reply to `two`, and the one to the socket that is gone
  const both = async () => (await server.call('stats')).deliveries - before.deliveries;
  await until(async () => (await both()) >= 2, 'both replies');
  t.is(await both(), 2);
  const dropped = async () => (await server.call('stats')).droppedByClose - before.droppedByClose;
  await until(async () => (await dropped()) >= 1, 'the reply to be dropped');
  t.is(await dropped(), 1);
});
