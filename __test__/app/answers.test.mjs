// An app's answers on the wire: headers, lengths, kinds of bodies, streams, errors.
import { once } from 'node:events';
import { STATUS_CODES } from 'node:http';
import net from 'node:net';
import test from 'ava';

import { answerOf, everything, request, requestBytes } from '../support/app-client.mjs';
import { until, within } from '../support/deadline.mjs';
import { connectOptions } from '../support/http.mjs';
import { ownServer, sharedServer, worker } from '../support/server.mjs';

const server = sharedServer(test, { workerPath: worker('app'), threads: 1 });
const ask = (start, given) => request(server.addresses[0], start, given);

test('the headers of every answer', async (t) => {
  const { first, headers, text } = await ask('GET /text');
  t.is(first, 'HTTP/1.1 200 OK');
  t.is(text, '\u20acuro \u{1f3e0}');
  t.deepEqual(headers['content-type'], ['text/html; charset=utf-8']);
  t.deepEqual(headers['content-length'], [String(Buffer.byteLength(text))]);
  t.deepEqual(headers.server, ['Millrace']);
  t.is(headers.date?.length, 1);
  t.false(Number.isNaN(Date.parse(headers.date[0])));
});

test('bytes, objects and nothing', async (t) => {
  const binary = await ask('GET /binary');
  t.deepEqual([...binary.body], [0, 255, 128, 10]);
  t.deepEqual(binary.headers['content-type'], ['application/octet-stream']);
  const object = await ask('GET /object');
  t.is(object.text, '{"a":[1,"\u20ac"]}');
  t.deepEqual(object.headers['content-type'], ['application/json; charset=utf-8']);
  t.deepEqual(object.headers['content-length'], [String(object.body.length)]);
  const empty = await ask('GET /empty');
  t.is(empty.text, '');
  t.deepEqual(empty.headers['content-length'], ['0']);
});

test('HEAD has the headers and no body', async (t) => {
  const { status, headers, body } = await ask('HEAD /object');
  t.is(status, 200);
  t.is(body.length, 0);
  t.deepEqual(headers['content-length'], [String(Buffer.byteLength('{"a":[1,"\u20ac"]}'))]);
});

for (const code of [204, 304]) {
  test(`${code} has no body and no length of one`, async (t) => {
    const { status, headers, body } = await ask(`GET /with-body/${code}`);
    t.is(status, code);
    t.is(body.length, 0);
    t.true(
      headers['content-length'] === undefined || headers['content-length'][0] === '0',
      `${headers['content-length']}`,
    );
  });
}

test('statuses and their names', async (t) => {
  for (const [code, text] of [
    [201, '201 Created'],
    [404, '404 Not Found'],
    [503, '503 Service Unavailable'],
    [299, '299 Unknown'],
  ]) {
    const answer = await ask(`GET /status/${code}`);
    t.is(answer.first, `HTTP/1.1 ${text}`);
    t.is(answer.text, text);
  }
});

test('the status line has the name of every status', async (t) => {
  const known = Object.entries(STATUS_CODES).filter(([code]) => code >= 200);
  for (const [code, name] of [...known, ['299', 'Unknown'], ['599', 'Unknown']]) {
    t.is((await ask(`GET /with-body/${code}`)).first, `HTTP/1.1 ${code} ${name}`);
  }
});

test('a header that is set in another case is not there twice; several values are several lines', async (t) => {
  const { headers } = await ask('GET /headers');
  t.deepEqual(headers['content-type'], ['text/css']);
  t.deepEqual(headers['x-several'], ['a', 'b']);
});

test('cookies are a line each', async (t) => {
  const { headers } = await ask('GET /cookies');
  t.deepEqual(headers['set-cookie'], [
    'a=1%202; Path=/; HttpOnly',
    'b=2; Path=/',
    'c=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT',
  ]);
});

test('a redirect has a Location that can be sent', async (t) => {
  const { status, headers, text } = await ask('GET /redirect');
  t.is(status, 302);
  t.deepEqual(headers.location, ['/elsewhere?a=%E2%82%AC']);
  t.is(text, 'Redirecting to /elsewhere?a=\u20ac');
});

test('a value with a line break becomes no header', async (t) => {
  const { lines, text } = await ask('GET /injected?value=a%0D%0ASet-Cookie:%20b=c');
  t.is(text, 'TypeError: refused');
  t.false(lines.some((line) => /set-cookie/i.test(line)));
});

test('async handlers and callbacks are waited for', async (t) => {
  t.is((await ask('GET /later')).text, 'later');
  t.is((await ask('GET /callback')).text, 'from a callback');
});

test('a body in pieces: chunks for 1.1, until the end for 1.0', async (t) => {
  const chunked = await ask('GET /pieces');
  t.deepEqual(chunked.headers['transfer-encoding'], ['chunked']);
  const text = chunked.text.split('\r\n').filter((_line, at) => at % 2 === 1);
  t.is(text.join(''), 'one two \u20acend');
  const plain = await ask('GET /pieces HTTP/1.0');
  t.is(plain.headers['transfer-encoding'], undefined);
  t.is(plain.text, 'one two \u20acend');
  const { body } = await ask('GET /stream/3000000 HTTP/1.0');
  t.is(body.length, 3_000_000);
});

test('a large answer to a slow reader arrives whole', async (t) => {
  const socket = net.connect(connectOptions(server.addresses[0]));
  t.teardown(() => socket.destroy());
  socket.write(requestBytes('GET /stream/8000000 HTTP/1.0'));
  await once(socket, 'readable');
  let length = 0;
  socket.on('data', (piece) => {
    length += piece.length;
    socket.pause();
    setTimeout(() => socket.resume(), 1);
  });
  await once(socket, 'end');
  t.true(length > 8_000_000 && length < 8_001_000, `${length}`);
});

for (const [path, message] of [
  ['/throws', 'it throws'],
  ['/rejects', 'it rejects'],
  ['/passes-on', 'it passes on'],
]) {
  test(`an error is answered with 500 and reported: ${path}`, async (t) => {
    const own = await ownServer(t, { workerPath: worker('app'), threads: 1 });
    const { status, headers, text } = await request(own.addresses[0], `GET ${path}`);
    t.is(status, 500);
    t.is(text, 'Internal Server Error');
    t.deepEqual(headers['content-type'], ['text/plain']);
    t.deepEqual(headers['content-length'], ['21']);
    t.deepEqual(headers.connection, ['close']);
    const [error] = await until(async () => {
      const errors = await own.errors();
      return errors.length > 0 && errors;
    }, 'a report');
    t.is(error.code, 'ERR_MILLRACE_HANDLER_FAILED');
    t.true(error.message.endsWith(message), error.message);
    // the worker goes on
    t.is((await request(own.addresses[0], 'GET /text')).status, 200);
  });
}

test('an answer to an error ends the connection, though the client would have kept it', async (t) => {
  const bytes = 'GET /throws HTTP/1.1\r\nHost: a\r\n\r\nGET /text HTTP/1.1\r\nHost: a\r\n\r\n';
  const own = await ownServer(t, { workerPath: worker('app'), threads: 1 });
  const came = await everything(own.addresses[0], Buffer.from(bytes));
  const { first, headers, body } = answerOf(came);
  t.is(first, 'HTTP/1.1 500 Internal Server Error');
  t.regex(headers.connection[0], /^close\b/);
  t.is(body.toString(), 'Internal Server Error');
});

test('an error handler answers instead', async (t) => {
  const { status, text } = await ask('GET /handled');
  t.is(status, 418);
  t.is(text, 'I am a teapot');
});

test('a stream that fails is not mistaken for a complete one', async (t) => {
  const own = await ownServer(t, { workerPath: worker('app'), threads: 1 });
  const socket = net.connect(connectOptions(own.addresses[0]));
  t.teardown(() => socket.destroy());
  let came = '';
  socket.on('data', (piece) => {
    came += piece;
  });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.on('error', () => {});
  socket.write('GET /stream-breaks HTTP/1.1\r\nHost: a\r\n\r\n');
  await until(() => came.includes('a beginning'), 'the first piece');
  await request(own.addresses[0], 'GET /break');
  await within(closed, 'the end of the connection');
  t.regex(came, /^HTTP\/1\.1 200 /);
  t.notRegex(came, /0\r\n\r\n$/);
  await until(async () => (await own.errors()).length > 0, 'a report');
});

test('a failing stream that is not awaited does not end the worker', async (t) => {
  const own = await ownServer(t, { workerPath: worker('app'), threads: 1 });
  const before = (await request(own.addresses[0], 'GET /thread')).text;
  const reported = (message) =>
    until(async () => (await own.errors()).some((error) => message.test(error.message)), `a report like ${message}`);
  // its first piece is with the client before the stream fails
  const fail = () => own.call('setKey', 'break', '1');
  const came = await everything(own.addresses[0], requestBytes('GET /stream-fails'), fail);
  t.regex(came.toString(), /^HTTP\/1\.1 200 /);
  await reported(/the stream failed/);
  // a busy machine may send the head before it knows that there is no file
  const missing = async () => (await request(own.addresses[0], 'GET /stream-missing')).status === 500;
  await until(missing, 'the answer to what fails at once');
  await reported(/ENOENT/);
  t.is((await request(own.addresses[0], 'GET /thread')).text, before);
});

test('a handler that rejects because of its signal has not failed', async (t) => {
  const own = await ownServer(t, { workerPath: worker('app'), threads: 1 });
  const socket = net.connect(connectOptions(own.addresses[0]));
  socket.write('GET /gives-up HTTP/1.1\r\nHost: a\r\n\r\n');
  const seen = async () => (await request(own.addresses[0], 'GET /gave-up')).text;
  await until(async () => (await seen()) === 'asked', 'the handler');
  socket.destroy();
  await until(async () => (await seen()) === 'gave up', 'the signal');
  await request(own.addresses[0], 'GET /throws');
  await until(async () => (await own.errors()).length > 0, 'the report of another failure');
  for (const { message } of await own.errors()) t.regex(message, /^the handler of GET \/throws failed: it throws/);
});

test('a request without an answer gets 503 after the deadline', async (t) => {
  const own = await ownServer(t, { workerPath: worker('app'), threads: 1, limits: { answerTimeoutMs: 1500 } });
  const { status } = await request(own.addresses[0], 'GET /silent');
  t.is(status, 503);
  // late answers of a busy machine are 503, too
  await until(async () => (await request(own.addresses[0], 'GET /text')).status === 200, 'the next answer');
});

test('the signal of a request tells that the client left', async (t) => {
  const socket = net.connect(connectOptions(server.addresses[0]));
  socket.write('GET /waits HTTP/1.1\r\nHost: a\r\n\r\n');
  const seen = async () => JSON.parse((await ask('GET /has-left')).text);
  await until(async () => (await seen())[0], 'the request');
  t.false((await seen())[1]);
  socket.destroy();
  await until(async () => (await seen())[1], 'the signal');
});
