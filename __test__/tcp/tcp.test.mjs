// Raw TCP: messages over sockets of node:net and node:tls, to and from handlers, beside WebSockets.
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

import { Authority } from '../support/certificates.mjs';
import { folderFor } from '../support/files.mjs';
import { needing } from '../support/needing.mjs';
import { inEach } from '../support/runtimes.mjs';
import { counted, ownServer, worker } from '../support/server.mjs';
import { framed, TcpClient, told } from '../support/tcp.mjs';
import { connect } from '../support/ws-client.mjs';

const WORKER = fileURLToPath(new URL('../support/tcp.mjs', import.meta.url));
const OPTIONS = { workerPath: WORKER, threads: 1, ioThreads: 1 };
const tcp = (framing, more) => ({ address: '127.0.0.1:0', protocol: 'tcp', framing, ...more });

/** A server with these listeners, and a client of the first. */
async function serve(t, bind, more) {
  const server = await ownServer(t, { ...OPTIONS, bind, ...more });
  return { server, join: (options) => TcpClient.connect(t, server.addresses[0], options) };
}

/** The arguments that `handleOpen` got for each of these. */
const opened = (server, ...clients) => Promise.all(clients.map(({ port }) => told(server, `open tcp ${port}`)));

let identity;
let alice;
const authority = Authority.of(test, async (made) => {
  identity = await made.issue();
  alice = await made.issue({ client: true, subject: '/CN=alice' });
});

inEach(test, 'messages in every framing, in both directions', async (t, { launch }) => {
  const lengths = [1, 2, 4];
  const bind = [tcp('line'), tcp('none'), ...lengths.map((lengthBytes) => tcp('length', { lengthBytes }))];
  const { addresses } = await launch({ ...OPTIONS, bind });
  const [lines, bytes, ...others] = await Promise.all(addresses.map((address) => TcpClient.connect(t, address)));
  lines.write(Buffer.concat([Buffer.from('one\r\n\ngrüße\n'), Buffer.of(0xff, 10), Buffer.from('cu')]));
  t.is(await lines.line(), 'one');
  t.is(await lines.line(), '');
  t.is(await lines.line(), 'grüße');
  t.deepEqual(await lines.bytes(8), Buffer.concat([Buffer.from('bytes '), Buffer.of(0xff, 10)]));
  lines.write('t\n');
  t.is(await lines.line(), 'cut');
  bytes.write('a\r\n');
  t.is(String(await bytes.bytes(9)), 'bytes a\r\n');
  for (const [index, client] of others.entries()) {
    const message = framed(lengths[index], 'hällo\n');
    for (const byte of message) client.write(Buffer.of(byte));
    client.write(framed(lengths[index], ''));
    t.is(String(await client.message(lengths[index])), 'bytes hällo\n');
    t.is(String(await client.message(lengths[index])), 'bytes ');
  }
});

inEach(test, 'handleEnd comes behind all messages, and sending goes on', async (t, { launch }) => {
  const server = await launch({ ...OPTIONS, bind: tcp('line') });
  const client = await TcpClient.connect(t, server.addresses[0]);
  client.end('first\nlater go\nsecond\nlast');
  t.is(await client.line(), 'first');
  await server.call('setKey', 'go', '1');
  t.is(await client.rest(), `released by go\nsecond\nlast\nthe end of tcp ${client.port}\nsomebody ended\nand later\n`);
  t.like(await told(server, `close tcp ${client.port}`), { code: 4002, reason: 'ended' });
});

inEach(test, 'without handleEnd all is answered, then the connection closes', async (t, { launch }) => {
  const server = await launch({ ...OPTIONS, workerPath: worker('echo'), bind: tcp('line') });
  const client = await TcpClient.connect(t, server.addresses[0]);
  client.end('first\nslow one\nlast');
  t.is(await client.line(), 'first');
  t.is(await client.line(), 'started');
  await server.call('setKey', 'slow one', '1');
  t.is(await client.rest(), 'slow one\nlast\n');
  await counted(server, 'closed', 1);
});

test('a broadcast reaches TCP and WebSockets in one order', async (t) => {
  const bind = [tcp('line'), tcp('length', { lengthBytes: 2 }), '127.0.0.1:0'];
  const { server, join } = await serve(t, bind, { ioThreads: 2 });
  const lines = await join();
  const lengths = await TcpClient.connect(t, server.addresses[1]);
  const web = await connect(t, server.addresses[2]);
  await opened(server, lines, lengths);
  const numbers = Array.from({ length: 300 }, (_, index) => `number ${index}`);
  lines.write(numbers.map((text) => `publish ${text}\n`).join(''));
  for (const text of numbers) {
    t.is(await lines.line(), text);
    t.is(String(await lengths.message(2)), text);
    t.is(await web.text(), text);
  }
});

test('a payload cannot forge a line', async (t) => {
  const { server, join } = await serve(t, [tcp('line'), '127.0.0.1:0']);
  const client = await join();
  const web = await connect(t, server.addresses[1]);
  await opened(server, client);
  web.send('publish hello\r\nQUIT\n');
  t.is(await client.line(), 'hello  QUIT ');
  await server.call('send', 'news', Buffer.from([0xfe, 13, 10, 0xff]));
  t.deepEqual(await client.bytes(5), Buffer.from([0xfe, 32, 32, 0xff, 10]));
});

test('handleOpen is called at once with the client; a refusal closes without a byte', async (t) => {
  const { server, join } = await serve(t, tcp('line'));
  const client = await join();
  const [seen] = await opened(server, client);
  t.deepEqual(seen, {
    socketId: seen.socketId,
    ip: '127.0.0.1',
    headers: {},
    url: '',
    path: '',
    transport: 'tcp',
    port: client.port,
    protocols: [],
  });
  await server.call('setKey', 'refuse', '1');
  const refused = await join();
  t.is(await refused.rest(), '');
  await opened(server, refused);
  await counted(server, 'refused', 1);
  t.is(await server.call('getKey', `close tcp ${refused.port}`), undefined);
  client.write('still here\n');
  t.is(await client.line(), 'still here');
});

test('handleClose gets the code of the end', async (t) => {
  const { server, join } = await serve(t, [tcp('line'), tcp('length', { lengthBytes: 2 })], {
    limits: { messageBytes: 100 },
  });
  const ended = async (client) => (await told(server, `close tcp ${client.port}`)).code;
  const asked = await join();
  asked.write('close\n');
  t.is(await asked.rest(), '');
  t.deepEqual(await told(server, `close tcp ${asked.port}`).then(({ code, reason }) => [code, reason]), [
    4001,
    'as asked',
  ]);
  const other = await join();
  const long = await join();
  long.write(`good\n${'x'.repeat(101)}`);
  t.is(await long.rest(), 'good\n');
  t.is(await ended(long), 1009);
  other.write('unharmed\n');
  t.is(await other.line(), 'unharmed');
  const announced = await TcpClient.connect(t, server.addresses[1]);
  announced.write(Buffer.of(0, 101));
  t.is(await announced.rest(), '');
  t.is(await ended(announced), 1009);
  const cut = await TcpClient.connect(t, server.addresses[1]);
  cut.end(Buffer.of(0, 5, 65));
  t.is(await cut.rest(), '');
  t.is(await ended(cut), 1006);
  const reset = await join();
  reset.write('here\n');
  t.is(await reset.line(), 'here');
  reset.reset();
  t.is(await ended(reset), 1006);
});

test('an HTTP request line closes the connection', async (t) => {
  const { server } = await serve(t, [tcp('line'), tcp('line', { allowHttp: true })]);
  const [refusing, allowing] = server.addresses;
  await t.throwsAsync(fetch(`http://${refusing}/`, { method: 'POST', body: 'publish forged\n' }));
  const client = await TcpClient.connect(t, allowing);
  client.write('GET / HTTP/1.1\n');
  t.is(await client.line(), 'GET / HTTP/1.1');
  const late = await TcpClient.connect(t, refusing);
  late.write('hello\nGET / HTTP/1.1\n');
  t.is(await late.line(), 'hello');
  t.is(await late.line(), 'GET / HTTP/1.1');
});

test('a message too long for its length is dropped for that client only, and counted', async (t) => {
  const bind = [tcp('length', { lengthBytes: 1 }), tcp('length', { lengthBytes: 2 })];
  const { server, join } = await serve(t, bind);
  const short = await join();
  const long = await TcpClient.connect(t, server.addresses[1]);
  await opened(server, short, long);
  await server.call('send', 'news', 'x'.repeat(256));
  await server.call('send', 'news', 'end');
  t.is(String(await short.message(1)), 'end');
  t.is((await long.message(2)).length, 256);
  await counted(server, 'droppedByEncoding', 1);
});

test('connections of one address are limited', async (t) => {
  const { join } = await serve(t, tcp('line'), { limits: { connectionsPerAddress: 1 } });
  const first = await join();
  first.write('in\n');
  t.is(await first.line(), 'in');
  t.is(await (await join()).rest(), '');
});

needing(test, 'openssl')('TLS, with the certificates of clients', async (t) => {
  const tls = { ...identity.files, clientCertificates: 'required', ca: authority.file('ca.pem') };
  const { server, join } = await serve(t, tcp('line', { tls }));
  const { cert, key } = alice;
  const client = await join({ tls: { ca: authority.ca, cert, key, servername: 'localhost' } });
  client.write('secret\n');
  t.is(await client.line(), 'secret');
  t.like(await opened(server, client), [{ ip: '127.0.0.1', subject: { CN: 'alice' } }]);
  client.end('last');
  t.is(await client.line(), 'last');
  t.is(await client.rest(), `the end of tcp ${client.port}\nsomebody ended\nand later\n`);
  const unauthenticated = await join({ tls: { ca: authority.ca, servername: 'localhost' } });
  t.is(await unauthenticated.rest(), '');
  await counted(server, 'failedHandshakes', 1);
});

test('unix sockets', async (t) => {
  const address = `unix:${path.join(folderFor(t, {}), 'tcp.sock')}`;
  const { server, join } = await serve(t, tcp('line', { address }));
  const client = await join();
  client.write('hello\n');
  t.is(await client.line(), 'hello');
  t.like(await told(server, 'open tcp 0'), { ip: '', port: 0, transport: 'tcp' });
  client.end('last');
  t.is(await client.rest(), 'last\nthe end of tcp 0\nsomebody ended\nand later\n');
});

test('the PROXY protocol names the client', async (t) => {
  const { server, join } = await serve(t, tcp('line', { proxyProtocol: true }), { trustProxy: ['127.0.0.1'] });
  const client = await join({ before: 'PROXY TCP4 192.0.2.7 192.0.2.1 5000 443\r\nhello\n' });
  t.is(await client.line(), 'hello');
  t.like(await told(server, 'open tcp 5000'), { ip: '192.0.2.7', port: 5000 });
  const without = await join();
  without.write('hello there\n');
  t.is(await without.rest(), '');
  await counted(server, 'refusedProxyHeaders', 1);
});

test('traffic is counted, and sockets are listed', async (t) => {
  const { server, join } = await serve(t, tcp('line'));
  const client = await join();
  client.write('hello\n');
  t.is(await client.line(), 'hello');
  t.like(await server.call('stats'), { opened: 1, sockets: 1, messagesIn: 1, messageBytesIn: 5, bytesIn: 6 });
  const [{ socketId }] = await opened(server, client);
  t.is((await server.call('getDebugState', 'sockets', socketId)).ip, '127.0.0.1');
  client.end();
  await client.rest();
  await counted(server, 'closed', 1);
});

test('a stop sends accepted messages, and calls the worker', async (t) => {
  const { server, join } = await serve(t, tcp('line'));
  const client = await join();
  client.write('in\n');
  t.is(await client.line(), 'in');
  const text = 'x'.repeat(1 << 20);
  await server.call('send', 'news', text);
  const rest = client.rest();
  await server.stop();
  t.is((await rest).length, text.length + 1);
  t.is((await told(server, `close tcp ${client.port}`)).code, 1001);
});
