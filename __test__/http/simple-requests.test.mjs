// Requests that are answered without hyper beside others on one connection: each answer is the same whatever came
// before it, in order, and the rules about the connection hold for both.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import test from 'ava';

import { request, talk } from '../support/http-connection.mjs';
import { ownServer, sharedServer, worker } from '../support/server.mjs';

const folder = mkdtempSync(join(tmpdir(), 'millrace-simple-'));
const FILE = 'a file\n'.repeat(5_000);
writeFileSync(join(folder, 'file.txt'), FILE);
test.after.always(() => rmSync(folder, { recursive: true, force: true }));

const OPTIONS = { workerPath: worker('fetch'), threads: 1, ioThreads: 1, static: folder };
const server = sharedServer(test, OPTIONS);

const get = (path, ...headers) => request(`GET ${path} HTTP/1.1`, headers);

// Requests with what their answers are. Those of the first group need no hyper.
const SIMPLE = {
  'a text': [get('/hello'), 200, 'hello'],
  'JSON, later': [get('/async?a=%20b'), 200, 'async'],
  'a status and headers': [get('/plain', 'X-Some: thing', 'x-some: other'), 201, 'plain'],
  'an empty body': [get('/empty'), 200, ''],
  'a file': [get('/file.txt', 'Accept: */*'), 200, FILE],
};
const OTHER = {
  'a body': [request('POST /text HTTP/1.1', ['Content-Length: 3'], { body: 'abc' }), 200, 'abc'],
  HEAD: [request('HEAD /hello HTTP/1.1'), 200, ''],
  'no content': [get('/no-content'), 204, ''],
  'a failure': [get('/throw'), 500, 'Internal server error'],
  'a part of a file': [get('/file.txt', 'Range: bytes=2-5'), 206, 'file'],
  'a header that says nothing follows': [get('/hello', 'Content-Length: 0'), 200, 'hello'],
  'an empty line before': [Buffer.concat([Buffer.from('\r\n'), get('/hello')]), 200, 'hello'],
};
const isHead = ([bytes]) => bytes.toString('latin1').startsWith('HEAD');

/** The answers on one connection, without the dates. */
async function answers(t, address, requests, send) {
  const client = talk(t, address);
  send(client, Buffer.concat(requests.map(([bytes]) => bytes)));
  const seen = [];
  for (const each of requests) {
    const { headers, ...answer } = await client.answer({ head: isHead(each) });
    t.regex(headers.date, /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/);
    seen.push({ ...answer, headers: { ...headers, date: undefined } });
  }
  client.destroy();
  return seen;
}

const WAYS = {
  'at once': (client, bytes) => client.write(bytes),
  'in pieces': (client, bytes) => {
    for (let at = 0; at < bytes.length; at += 7) client.write(bytes.subarray(at, at + 7));
  },
};

for (const [way, send] of Object.entries(WAYS)) {
  test(`simple requests, others, and simple ones again, sent ${way}`, async (t) => {
    const simple = Object.values(SIMPLE);
    const requests = [...simple, ...Object.values(OTHER), ...simple];
    const seen = await answers(t, server.addresses[0], requests, send);
    t.deepEqual(
      seen.map(({ status, body }) => [status, body]),
      requests.map(([, status, body]) => [status, body]),
    );
    for (const { headers, version } of seen) {
      t.is(version, 'HTTP/1.1');
      t.is(headers.connection, 'keep-alive');
      t.is(headers['keep-alive'], 'timeout=5, max=1000');
    }
    // hyper, which has sent the last ones, sends the same as was sent without it
    t.deepEqual(seen.slice(-simple.length), seen.slice(0, simple.length));
  });
}

for (const [name, other] of Object.entries(OTHER)) {
  test(`behind simple requests, and before them: ${name}`, async (t) => {
    const address = server.addresses[0];
    const [alone] = await answers(t, address, [other], WAYS['at once']);
    const hello = SIMPLE['a text'];
    const seen = await answers(t, address, [hello, hello, other, hello], WAYS['at once']);
    t.deepEqual(seen[2], alone);
    t.deepEqual(seen[3], seen[0]);
  });
}

test('an answer with a date of its own gets no other', async (t) => {
  for (const method of ['GET', 'HEAD']) {
    const client = talk(t, server.addresses[0]);
    const seen = await client.write(request(`${method} /dated HTTP/1.1`, ['Connection: close'])).closed();
    t.deepEqual(seen.match(/^date: .*$/gim), ['date: a date of its own'], method);
    t.true(seen.endsWith(method === 'HEAD' ? '\r\n\r\n' : '\r\n\r\ndated'), seen);
  }
});

test('a streamed answer, and a request behind it', async (t) => {
  const client = talk(t, server.addresses[0]).write(Buffer.concat([get('/hello'), get('/pieces'), get('/hello')]));
  t.is((await client.answer()).body, 'hello');
  t.is((await client.answer()).headers['transfer-encoding'], 'chunked');
  const rest = await client.write(get('/hello', 'Connection: close')).closed();
  const chunks = rest.slice(0, rest.indexOf('HTTP/1.1'));
  t.is(chunks.replaceAll(/(?:^|\r\n)[0-9a-f]+\r\n/g, '').trim(), 'one two three');
  t.is(rest.split('HTTP/1.1 200 OK').length, 3);
});

test('the last request by its own word, by the limit, and by a refusal behind it', async (t) => {
  const address = server.addresses[0];
  for (const path of ['/hello', '/file.txt']) {
    const closing = talk(t, address).write(Buffer.concat([get(path, 'Connection: close'), get('/hello')]));
    const last = await closing.answer();
    t.is(last.headers.connection, 'close');
    t.is(last.headers['keep-alive'], undefined);
    t.is(await closing.closed(), '');
  }
  const own = await ownServer(t, { ...OPTIONS, limits: { keepAliveRequests: 2 } });
  const limited = talk(t, own.addresses[0]).write(Buffer.concat([get('/hello'), get('/file.txt'), get('/hello')]));
  t.is((await limited.answer()).headers.connection, 'keep-alive');
  t.is((await limited.answer()).headers.connection, 'close');
  t.is(await limited.closed(), '');
  const refused = talk(t, address).write(Buffer.concat([get('/hello'), Buffer.from('GET / HTTP/1.1\r\n\r\n')]));
  t.is((await refused.answer()).status, 200);
  t.is((await refused.answer()).status, 400);
  t.is(await refused.closed(), '');
});

test('a client that ends its side gets its answers', async (t) => {
  const client = talk(t, server.addresses[0])
    .write(Buffer.concat([get('/async'), get('/hello')]))
    .half();
  t.is((await client.answer()).body, 'async');
  t.is((await client.answer()).body, 'hello');
  t.is(await client.closed(), '');
});
