// Apps of itty-router and of H3 run unchanged, in every runtime. That of Hono is in `runtimes.test.mjs`.
import test from 'ava';

import { ask } from '../support/ask.mjs';
import { inEach } from '../support/runtimes.mjs';
import { open, worker } from '../support/server.mjs';

const JSON_TYPE = { 'content-type': 'application/json' };

/** A server with an app; `get` asks it. What the apps have in common is looked at, and their sockets. */
async function serving(t, launch, name, greeting) {
  const server = await launch({ workerPath: worker(name), threads: 1 });
  const get = (path, options) => ask(server.addresses[0], path, options);
  t.is((await get('/')).text, greeting);
  t.is((await get('/', { method: 'HEAD' })).text, '');
  t.like(JSON.parse((await get('/api/users/7?q=x')).text), { id: '7', q: 'x' });
  const created = await get('/api/users', { method: 'POST', headers: JSON_TYPE, body: '{"name":"Ann"}' });
  t.deepEqual(JSON.parse(created.text), { created: { name: 'Ann' } });
  const long = 'long '.repeat(50_000);
  const echoed = await get('/text', { method: 'POST', body: long });
  t.is(echoed.text, long);
  t.is(echoed.headers['x-type'], 'POST');
  t.regex((await get('/header', { headers: { 'X-One': 'one' } })).text, /one/);
  const forbidden = await get('/forbidden');
  t.is(forbidden.status, 403);
  t.regex(forbidden.text, /not you/);
  t.is((await get('/nowhere')).status, 404);
  const socket = await open(t, server);
  socket.send('beside it');
  t.is(await socket.text(), 'beside it');
  return { server, get, created };
}

inEach(test, 'an app of itty-router', async (t, { launch }) => {
  const { server, get } = await serving(t, launch, 'itty', 'Hello itty');
  const preflight = await get('/api/users/7', { method: 'OPTIONS', headers: { origin: 'https://a.example' } });
  t.is(preflight.status, 204);
  t.is(preflight.headers['access-control-allow-origin'], '*');
  t.is(JSON.parse((await get('/api/users/7')).text).ip, '127.0.0.1');
  t.is((await get('/empty')).status, 204);
  t.is((await get('/broken')).status, 500);
  t.deepEqual(await server.errors(), []);
});

inEach(test, 'an app of H3', async (t, { launch }) => {
  const { server, get, created } = await serving(t, launch, 'h3', 'Hello H3');
  t.is(created.status, 201);
  t.deepEqual((await get('/cookies')).headers['set-cookie'], ['a=1; Path=/', 'b=2; Path=/']);
  t.is((await get('/stream')).text, 'one two three');
  t.is((await get('/redirect')).headers.location, '/');
  t.deepEqual(await server.errors(), []);
});
