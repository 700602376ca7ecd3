// Listeners of Node in every runtime: the classes below `req` and `res` are those of the runtime's own `node:http`.
import test from 'ava';

import { ask } from '../support/ask.mjs';
import { run } from '../support/node-pair.mjs';
import { PROGRAMS } from '../support/node-programs/index.mjs';
import { inEach } from '../support/runtimes.mjs';
import { open, worker } from '../support/server.mjs';

const json = { 'content-type': 'application/json' };

for (const name of ['express', 'express4', 'koa', 'fastify', 'nest']) {
  inEach(test, `an app of ${name} runs unchanged`, async (t, { launch }) => {
    const server = await launch({ workerPath: worker(`node-${name}`), threads: 2 });
    const get = (path, options) => ask(server.addresses[0], `/${name}${path}`, options);
    const hello = await get('/hello');
    t.is(JSON.parse(hello.text).hello, 'world');
    t.is(hello.headers['content-length'], String(hello.text.length));
    t.is((await get('/hello', { method: 'HEAD' })).text, '');
    const echoed = await get('/echo', { method: 'POST', headers: json, body: '{"a":[1,"é"]}' });
    t.deepEqual(JSON.parse(echoed.text), { a: [1, 'é'] });
    t.true((await get('/throw')).status >= 400);
    t.is((await get('/none/none')).status, name === 'koa' ? 200 : 404);
    t.deepEqual(await server.errors(), []);
  });
}

inEach(test, 'bodies, streams and trailers of listeners; sockets beside them', async (t, { launch }) => {
  const server = await launch({ workerPath: worker('node-wire'), threads: 1 });
  const [address] = server.addresses;
  const body = 'large '.repeat(100_000);
  t.true((await ask(address, '/echo', { method: 'POST', body })).text === body);
  t.is((await ask(address, '/chunks')).text, 'ab');
  t.is((await ask(address, '/trailers')).text, 'body');
  t.is(JSON.parse((await ask(address, '/facts?%zz')).text).url, '/facts?%zz');
  const socket = await open(t, server);
  socket.send('beside it');
  t.is(await socket.text(), 'beside it');
});

inEach(test, 'files, cookies, redirects and middlewares answer alike', async (t, { launch }) => {
  const server = await launch({ workerPath: worker('node-programs'), threads: 1 });
  const [address] = server.addresses;
  const first = async (name) => run(address, name, PROGRAMS[name]);
  t.deepEqual(
    (await first('files')).slice(0, 4).map(({ status }) => status),
    [200, 200, 200, 200],
  );
  t.is((await first('cookies'))[0].headers.filter((line) => line.startsWith('Set-Cookie')).length, 6);
  t.is((await first('redirects'))[0].status, 302);
  t.deepEqual(
    (await first('sessions')).map(({ status }) => status),
    PROGRAMS.sessions.requests.map(() => 200),
  );
  t.is((await first('uploads'))[0].status, 200);
  t.is((await first('swagger'))[3].status, 200);
});
