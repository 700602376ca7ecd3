// Between a listener of Node and the connection: pipelining, clients that leave, backpressure, framing, failures.
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { HttpConnection, request } from '../support/http-connection.mjs';
import { ownServer, RUNTIME, sharedServer, worker } from '../support/server.mjs';
import { listener } from '../support/workers/node-wire.mjs';
import { connect } from '../support/ws-client.mjs';

// one I/O thread reads requests in the order in which they come
const options = { workerPath: worker('node-wire'), threads: 1, ioThreads: 1 };
const server = sharedServer(test, options);

/** A connection that is closed with the test. */
function open(t, address = server.addresses[0]) {
  const connection = new HttpConnection(address);
  t.teardown(() => connection.destroy());
  return connection;
}

async function ask(t, line, headers, more, address) {
  return open(t, address)
    .write(request(`${line} HTTP/1.1`, headers, more))
    .answer();
}

const reported = (message, from = server) =>
  until(async () => (await from.errors()).find((error) => error.message.includes(message)), `a report of ${message}`);

test('pipelined requests are answered in order, each with its own answer', async (t) => {
  const connection = open(t);
  const paths = ['/slow', '/hello', '/short', '/hello'];
  connection.write(Buffer.concat(paths.map((path) => request(`GET ${path} HTTP/1.1`))));
  t.is((await connection.answer()).body.toString(), 'slow');
  t.is((await connection.answer()).body.toString(), 'hello');
  await connection.closed();
  t.regex(connection.seen.toString(), /^HTTP\/1\.1 200 OK\r\nContent-Length: 10\r\n(?:.+\r\n)+\r\nshort$/);
  const chunked = open(t);
  chunked.write(Buffer.concat(['/chunks', '/trailers', '/hello'].map((path) => request(`GET ${path} HTTP/1.1`))));
  await until(() => chunked.seen.includes('\r\n\r\nhello'), 'all three');
  t.regex(
    chunked.seen.toString(),
    /X-Chunks[\s\S]*\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\nHTTP[\s\S]*0\r\nX-Sum: abc\r\n\r\nHTTP/,
  );
});

test('a listener gets a request byte for byte as it was sent', async (t) => {
  const lines = ['X-UPPER: a', 'x-lower:  b  ', 'X-Upper: c', 'X-Latin: \u00e9'];
  const answer = await ask(t, 'GET /facts?%zz=//%2F<>"`#x', lines);
  const facts = JSON.parse(answer.body);
  t.is(facts.url, '/facts?%zz=//%2F<>"`#x');
  t.deepEqual(facts.headers, [
    'Host',
    'localhost',
    'X-UPPER',
    'a',
    'x-lower',
    'b',
    'X-Upper',
    'c',
    'X-Latin',
    '\u00e9',
  ]);
  t.deepEqual(facts.peer, ['127.0.0.1', 'IPv4']);
  const [, port] = server.addresses[0].split(':');
  const local = { address: '127.0.0.1', family: 'IPv4', port: Number(port) };
  t.deepEqual(facts.local, [local.address, local.port, local.family, local]);
  t.is(facts.encrypted, null);
});

test('HTTP/1.0 gets no chunks, and its version', async (t) => {
  for (const headers of [[], ['Connection: keep-alive']]) {
    const connection = open(t).write(request('GET /facts HTTP/1.0', headers, { host: null }));
    await connection.closed();
    const [head, body] = connection.seen.toString().split('\r\n\r\n');
    t.regex(head, /^HTTP\/1\.1 200 OK\r\n[\s\S]*Connection: close$/);
    t.false(/transfer-encoding/i.test(head));
    t.is(JSON.parse(body).version, '1.0');
  }
});

test('an answer shorter than its Content-Length is cut; a longer one ends there, and so does its connection', async (t) => {
  const short = open(t).write(request('GET /short HTTP/1.1'));
  await short.closed();
  t.regex(short.seen.toString(), /Content-Length: 10\r\n/);
  const long = open(t).write(Buffer.concat([request('GET /long HTTP/1.1'), request('GET /hello HTTP/1.1')]));
  t.is((await long.answer()).body.toString(), 'long');
  await long.closed();
  t.is(long.seen.length, 0);
});

test('an invalid message is not sent', async (t) => {
  const connection = open(t).write(request('GET /smuggle HTTP/1.1'));
  await connection.closed();
  t.is(connection.seen.toString(), '');
});

test('a whole answer may be written to the socket', async (t) => {
  const answer = await ask(t, 'GET /raw-end');
  t.deepEqual([answer.status, answer.body.toString()], [400, 'raw']);
});

// the events of a listener when a client disconnects, on both servers
for (const [name, path, more] of [
  ['before the answer', '/waits', {}],
  ['in the middle of the answer', '/streams', {}],
  ['in the middle of its body', '/body', { headers: ['Content-Length: 100'], body: 'half' }],
]) {
  test.serial(`a client that disconnects ${name} causes the same events as on node:http`, async (t) => {
    const plain = createServer(listener).listen(0, '127.0.0.1');
    t.teardown(() => plain.close());
    await once(plain, 'listening');
    const told = [];
    for (const address of [`127.0.0.1:${plain.address().port}`, server.addresses[0]]) {
      await ask(t, 'GET /seen', [], {}, address);
      const method = more.body === undefined ? 'GET' : 'POST';
      const connection = open(t, address).write(
        request(`${method} ${path} HTTP/1.1`, more.headers, { body: more.body }),
      );
      if (path === '/streams') await until(() => connection.seen.includes('begun'), 'the beginning');
      // the request has arrived when a later one was answered
      await ask(t, 'GET /hello', [], {}, address);
      await ask(t, 'GET /hello', [], {}, address);
      connection.destroy();
      const events = [];
      await until(async () => {
        events.push(...JSON.parse((await ask(t, 'GET /seen', [], {}, address)).body));
        return events.some(([event]) => event === 'res close') && events.some(([event]) => event === 'req close');
      }, 'both ends');
      told.push(events.filter(([event]) => event !== 'socket close'));
    }
    t.deepEqual(told[1], told[0]);
    t.true(told[0].length > 0);
  });
}

test.serial('a listener that does not read slows its client down, and gets all of it', async (t) => {
  const body = randomBytes(8_000_000);
  const connection = open(t).write(request('POST /paused HTTP/1.1', [`Content-Length: ${body.length}`]));
  connection.socket.write(body);
  await until(() => connection.socket.bytesWritten > 500_000 || connection.socket.writableLength > 0, 'some of it');
  await ask(t, 'GET /hello');
  t.true(connection.socket.writableLength > 0, 'the client has to wait');
  await until(async () => `${(await ask(t, 'GET /resume')).body}` === 'resumed', 'the listener to pause');
  t.is((await connection.answer()).body.toString(), createHash('sha1').update(body).digest('hex'));
});

test.serial('a client that does not read slows its listener down', async (t) => {
  const connection = open(t);
  connection.socket.pause();
  connection.write(request('GET /flood HTTP/1.1'));
  let before = -1;
  const written = async () => Number((await ask(t, 'GET /written')).body);
  await until(async () => {
    const now = await written();
    const stands = now === before && now > 0;
    before = now;
    return stands;
  }, 'the listener to wait');
  t.true(before < 39_000_000, `${before} bytes were written`);
  connection.socket.resume();
  await until(async () => (await written()) >= 40_000_000, 'the rest');
});

test('a client with Expect: 100-continue gets one 100, and the answer', async (t) => {
  for (const [path, length] of [
    ['/echo', 5],
    ['/early', 5],
    ['/early', 200_000],
  ]) {
    const connection = open(t).write(
      request(`POST ${path} HTTP/1.1`, [`Content-Length: ${length}`, 'Expect: 100-continue']),
    );
    t.is((await connection.answer()).status, 100, path);
    connection.write(Buffer.alloc(length, 'x'));
    const answer = await connection.answer();
    t.is(answer.status, path === '/echo' ? 200 : 413);
  }
});

test.serial('no failure of a listener ends its worker; each is reported', async (t) => {
  const own = await ownServer(t, { ...options, limits: { answerTimeoutMs: 5000 } });
  const address = own.addresses[0];
  const socket = await connect(t, address);
  for (const path of ['/throw', '/rejects']) {
    const answer = await ask(t, `GET ${path}`, [], {}, address);
    t.deepEqual([answer.status, answer.body.toString()], [500, 'Internal server error']);
  }
  const late = open(t, address).write(request('POST /throw-late HTTP/1.1', ['Content-Length: 3'], { body: 'abc' }));
  await late.closed();
  // a piece that arrives with its request is passed on by Node after the call: its error belongs to no known request
  const whole = open(t, address).write(request('POST /throw-in-data HTTP/1.1', ['Content-Length: 3'], { body: 'abc' }));
  t.is((await whole.answer()).status, 503);
  const parts = open(t, address).write(request('POST /throw-in-data HTTP/1.1', ['Content-Length: 3']));
  // the request has arrived when a later one was answered
  await ask(t, 'GET /hello', [], {}, address);
  await ask(t, 'GET /hello', [], {}, address);
  parts.write('abc');
  t.is((await parts.answer()).status, 500);
  for (const path of ['/throw-in-finish', '/throw-in-timer', '/rejects-nowhere']) {
    t.is((await ask(t, `GET ${path}`, [], {}, address)).status, 200);
  }
  const messages = [
    'thrown at once',
    'rejected',
    'thrown late',
    'thrown at a piece',
    'thrown at the end',
    'thrown by a timer',
    'rejected for nobody',
  ];
  for (const message of messages) t.is((await reported(message, own)).code, 'ERR_MILLRACE_HANDLER_FAILED');
  socket.send('still there');
  t.is(await socket.text(), 'still there');
});

test("WebSockets stay the gateway's, on the same port", async (t) => {
  const socket = await connect(t, server.addresses[0]);
  socket.send('to a socket');
  t.is(await socket.text(), 'to a socket');
});

test('members that need a net.Socket throw an error that says so', async (t) => {
  const [codes, harmless] = JSON.parse((await ask(t, 'GET /sockets')).body);
  for (const [name, code, says] of codes) t.deepEqual([code, says], ['ERR_MILLRACE_NO_NET_SOCKET', true], name);
  t.true(harmless);
});

test('early hints are sent before the answer', async (t) => {
  const connection = open(t).write(request('GET /hints HTTP/1.1'));
  const hints = await connection.answer();
  t.is(hints.status, 103);
  t.is((await connection.answer()).body.toString(), 'hinted');
  t.truthy(RUNTIME);
});
