// The Express example: a note that is posted comes to every socket, and every worker knows it.
import test from 'ava';

import { Example } from '../support/example.mjs';
import { connect } from '../support/ws-client.mjs';

test('notes are added, listed and published to open sockets', async (t) => {
  const example = await Example.start('examples/express/server.mjs', ['--port', '0']);
  t.teardown(() => example.kill());
  const listener = await connect(t, example.url.replace(/^http:\/\//, '').replace(/\/$/, ''));
  const headers = { 'content-type': 'application/json', connection: 'close' };
  const post = (text) =>
    fetch(new URL('/api/notes', example.url), { method: 'POST', headers, body: JSON.stringify({ text }) });
  t.is((await post('first')).status, 201);
  t.is(await listener.text(), 'first');
  t.is((await post('')).status, 400);
  t.is((await post('second')).status, 201);
  // one for each worker
  for (let index = 0; index < 2; index += 1) {
    const answer = await fetch(new URL('/api/notes', example.url), { headers });
    t.deepEqual(await answer.json(), ['first', 'second']);
  }
  const page = await fetch(example.url, { headers });
  t.is(page.headers.get('x-powered-by'), 'Express');
  t.regex(await page.text(), /<title>Notes<\/title>/);
});
