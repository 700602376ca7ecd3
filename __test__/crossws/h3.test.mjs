// Apps of H3 whose WebSockets are Millrace's: of version 2, by `fetch`, and of version 1, as in Nitro 2 and Nuxt 4.
import test from 'ava';

import { handshake } from '../support/http.mjs';
import { open, ownServer, worker } from '../support/server.mjs';

/** What apps of both versions do. */
async function works(t, server) {
  const [address] = server.addresses;
  t.is(await (await fetch(`http://${address}/`)).text(), 'a page');
  const one = await open(t, server, { path: '/chat/a' });
  const two = await open(t, server, { path: '/chat/a' });
  const other = await open(t, server, { path: '/chat/b' });
  t.is(await one.text(), 'in /chat/a');
  t.is(await two.text(), 'in /chat/a');
  t.is(await other.text(), 'in /chat/b');
  one.send('hello');
  t.is(await two.text(), 'hello');
  t.deepEqual(other.inbox, []);
  t.is((await handshake(address, { path: '/chat/a', headers: { Cookie: 'blocked' } })).status, 403);
}

for (const threads of [0, 2]) {
  test(`an app of H3 2 answers requests and handles sockets (threads: ${threads})`, async (t) => {
    const server = await ownServer(t, { workerPath: worker('crossws-h3'), threads });
    const [address] = server.addresses;
    await works(t, server);
    t.is((await fetch(`http://${address}/`)).headers.get('x-middleware'), 'yes');
    const dynamic = await open(t, server, { path: '/dynamic?name=you' });
    t.is(await dynamic.text(), 'hello you');
    const refused = await handshake(address, { path: '/refused' });
    t.is(refused.status, 402);
    t.regex(refused.body, /pay first/);
    t.is((await handshake(address, { path: '/missing' })).status, 404);
  });

  test(`an app of H3 1 answers requests and handles sockets (threads: ${threads})`, async (t) => {
    await works(t, await ownServer(t, { workerPath: worker('crossws-h3v1'), threads }));
  });
}
