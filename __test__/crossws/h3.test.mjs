// An app of H3 whose WebSockets are Millrace's.
import test from 'ava';

import { handshake } from '../support/http.mjs';
import { open, ownServer, worker } from '../support/server.mjs';

for (const threads of [0, 2]) {
  test(`an app of H3 answers requests and handles sockets (threads: ${threads})`, async (t) => {
    const server = await ownServer(t, { workerPath: worker('crossws-h3'), threads });
    const [address] = server.addresses;
    const page = await fetch(`http://${address}/`);
    t.is(await page.text(), 'a page');
    t.is(page.headers.get('x-middleware'), 'yes');

    const one = await open(t, server, { path: '/chat/a' });
    const two = await open(t, server, { path: '/chat/a' });
    const other = await open(t, server, { path: '/chat/b' });
    t.is(await one.text(), 'in /chat/a');
    t.is(await two.text(), 'in /chat/a');
    t.is(await other.text(), 'in /chat/b');
    one.send('hello');
    t.is(await two.text(), 'hello');
    t.deepEqual(other.inbox, []);

    const dynamic = await open(t, server, { path: '/dynamic?name=you' });
    t.is(await dynamic.text(), 'hello you');
    t.is((await handshake(address, { path: '/chat/a', headers: { Cookie: 'blocked' } })).status, 403);
    const refused = await handshake(address, { path: '/refused' });
    t.is(refused.status, 402);
    t.regex(refused.body, /pay first/);
    t.is((await handshake(address, { path: '/missing' })).status, 404);
  });
}
