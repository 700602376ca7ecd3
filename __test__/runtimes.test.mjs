// The same small life of a server in every runtime: started in a child process, talked to from here.
import test from 'ava';

import { runtimePath } from '../scripts/runtimes.mjs';
import { until } from './support/deadline.mjs';
import { text } from './support/frames.mjs';
import { handshake } from './support/http.mjs';
import { ask, callIn, member, open, ownServer, worker } from './support/server.mjs';

function installed(runtime) {
  try {
    return runtimePath(runtime) !== undefined;
  } catch {
    return false;
  }
}

for (const runtime of ['node', 'bun', 'deno']) {
  const required = process.env.MILLRACE_REQUIRE_ALL === '1';
  const runs = required || installed(runtime) ? test.serial : test.serial.skip;
  const serve = (t, options) => ownServer(t, { workerPath: worker('commands'), threads: 2, ...options }, { runtime });

  runs(`${runtime}: messages, broadcasts, virtual sockets, tokens and keys across threads`, async (t) => {
    const server = await serve(t);
    const [one, two] = [await member(t, server), await member(t, server)];
    t.not(one.workerId, two.workerId);
    one.send('téxt');
    t.is(await one.text(), 'téxt');
    two.send(Buffer.from([0, 255]));
    t.deepEqual((await two.next()).data, Buffer.from([0, 255]));
    t.deepEqual(await callIn(one, 'subscribe', [one.id, two.id], 'room'), [one.id, two.id]);
    const virtual = await callIn(two, 'createVirtualSocket', one.id, 'v:');
    t.is(await callIn(two, 'send', ['room', virtual], 'news'), 3);
    t.deepEqual([await one.text(), await one.text()].sort(), ['news', 'v:news']);
    t.is(await two.text(), 'news');
    t.is(await server.call('send', 'room', 'from the main thread'), 2);
    await callIn(two, 'setToken', one.id, 'token');
    t.is((await ask(one, { cmd: 'token' })).toString(), 'token');
    await callIn(one, 'setKey', 'k', 'v');
    t.is((await callIn(two, 'getKey', 'k')).toString(), 'v');
    t.is((await ask(one, { cmd: 'delay', ms: 20, echo: 'awaited' })).echo, 'awaited');
  });

  runs(`${runtime}: many messages in order, large ones among them`, async (t) => {
    const server = await serve(t, { threads: 1 });
    const ws = await open(t, server);
    const sizes = Array.from({ length: 500 }, (_, index) => (index % 50 === 49 ? 40_000 : index));
    await ws.raw(Buffer.concat(sizes.map((size, index) => text(`${index} ${'x'.repeat(size)}`))));
    for (const [index, size] of sizes.entries()) t.is(await ws.text(), `${index} ${'x'.repeat(size)}`);
  });

  runs(`${runtime}: handleOpen decides before the upgrade`, async (t) => {
    const server = await serve(t, { workerPath: worker('admission') });
    t.is((await handshake(server.addresses[0], { path: '/refuse' })).status, 403);
    t.is((await handshake(server.addresses[0], { path: '/throw' })).status, 500);
    const ws = await open(t, server, { path: '/greet?arg=you', after: text('message') });
    const seen = [await ws.text(), await ws.text(), await ws.text(), await ws.text()];
    t.deepEqual(seen, ['hello you', 'still in handleOpen', 'by channel', 'message']);
  });

  runs(`${runtime}: a failing handler, a worker that exits and one that hangs harm nobody else`, async (t) => {
    const server = await serve(t, { limits: { workerTimeoutMs: 1000 } });
    const healthy = await member(t, server);
    for (const [cmd, message] of Object.entries({ error: {}, exit: { code: 1 }, hang: {} })) {
      await until(async () => Object.keys(await server.call('getDebugState', 'workers')).length === 2, 'two workers');
      let victim = await member(t, server);
      while (victim.workerId === healthy.workerId) victim = await member(t, server);
      victim.send(JSON.stringify({ cmd, n: 1, ...message }));
      t.is((await victim.closed()).code, 1011, cmd);
      t.is(await ask(healthy, { cmd: 'ping' }), 'pong');
    }
  });

  runs(`${runtime}: start fails cleanly, stop ends everything and the process exits by itself`, async (t) => {
    const server = await ownServer(t, undefined, { runtime });
    await t.throwsAsync(server.start({ workerPath: worker('broken-throws'), threads: 2 }), {
      message: /this module throws/,
    });
    await server.start({ workerPath: worker('commands'), threads: 2 });
    const ws = await member(t, server);
    await server.stop();
    t.is((await ws.closed()).code, 1001);
    await server.end();
    t.is((await server.exited).code, 0);
  });
}
