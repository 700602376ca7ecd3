// Apps of `millrace/http` in every runtime: the server is started there in a child process and asked from here.
import net from 'node:net';
import test from 'ava';

import { everything, request, requestBytes } from '../support/app-client.mjs';
import { until } from '../support/deadline.mjs';
import { connectOptions } from '../support/http.mjs';
import { inEach } from '../support/runtimes.mjs';
import { open, worker } from '../support/server.mjs';

const JSON_TYPE = 'Content-Type: application/json';
const FORM_TYPE = 'Content-Type: application/x-www-form-urlencoded';

inEach(test, 'an app: requests, bodies, answers, sockets', async (t, { launch }) => {
  const server = await launch({ workerPath: worker('app'), threads: 1 });
  const ask = (start, given) => request(server.addresses[0], start, given);
  const json = async (start, given) => JSON.parse((await ask(start, given)).text);
  t.like(await json('GET /request?a=%20&b=1'), { path: '/request', query: { a: ' ', b: '1' }, ip: '127.0.0.1' });
  t.deepEqual(await json('GET /users/a%20%E2%82%AC%2Fb'), { id: 'a \u20ac/b' });
  const posted = { headers: [JSON_TYPE], body: '{"a":"\u20ac"}' };
  t.deepEqual(await json('POST /json', posted), { is: { a: '\u20ac' }, body: posted.body });
  t.is((await ask('POST /json', { headers: [JSON_TYPE], body: '{' })).status, 400);
  t.deepEqual(await json('POST /form', { headers: [FORM_TYPE], body: 'a+b=%20&c' }), { 'a b': ' ', c: '' });
  const long = 'x'.repeat(150_000);
  t.is((await ask('POST /bytes', { body: long })).text, long);
  t.is((await ask('POST /bytes', { body: long + long })).status, 413);
  t.is((await ask('GET /guarded/inside')).status, 401);
  t.is((await ask('DELETE /users/7')).status, 405);
  t.is((await ask('GET /users/%zz')).status, 400);
  t.is((await ask('GET /text')).text, '\u20acuro \u{1f3e0}');
  t.deepEqual([...(await ask('GET /binary')).body], [0, 255, 128, 10]);
  t.is((await ask('HEAD /object')).body.length, 0);
  t.deepEqual((await ask('GET /cookies')).headers['set-cookie'].length, 3);
  t.is((await ask('GET /injected?value=a%0D%0Ab')).text, 'TypeError: refused');
  t.is((await ask('GET /later')).text, 'later');
  t.is((await ask('GET /handled')).status, 418);
  t.is((await ask('GET /stream/3000000 HTTP/1.0')).body.length, 3_000_000);
  const client = await open(t, server, { path: '/socket/a%20b' });
  t.like(await client.json(), ['a b']);
  client.send('hello');
  t.is(await client.text(), 'a b said hello');
  const socket = net.connect(connectOptions(server.addresses[0]));
  socket.write(requestBytes('GET /waits'));
  const seen = async () => JSON.parse((await ask('GET /has-left')).text);
  await until(async () => (await seen())[0], 'the request');
  socket.destroy();
  await until(async () => (await seen())[1], 'the signal');
  t.deepEqual(await server.errors(), []);
});

inEach(test, 'an app: what fails is answered and reported, and ends no worker', async (t, { launch }) => {
  const server = await launch({ workerPath: worker('app'), threads: 1 });
  const [address] = server.addresses;
  const thread = async () => (await request(address, 'GET /thread')).text;
  const before = await thread();
  const reported = (message) =>
    until(async () => (await server.errors()).some((error) => message.test(error.message)), `a report like ${message}`);
  for (const [path, message] of [
    ['/throws', /it throws/],
    ['/rejects', /it rejects/],
    ['/passes-on', /it passes on/],
    ['/stream-missing', /ENOENT|no such file/],
  ]) {
    // a busy machine may send the head before it knows that there is no file
    await until(async () => (await request(address, `GET ${path}`)).status === 500, `500 for ${path}`);
    await reported(message);
  }
  // its first piece is with the client before the stream fails
  const fail = () => server.call('setKey', 'break', '1');
  t.regex((await everything(address, requestBytes('GET /stream-fails'), fail)).toString(), /^HTTP\/1\.1 200 /);
  await reported(/the stream failed/);
  t.is(await thread(), before);
  const hasty = { workerPath: worker('app'), threads: 1, limits: { answerTimeoutMs: 1000 } };
  const { addresses } = await server.start(hasty, { gateway: 'hasty' });
  t.is((await request(addresses[0], 'GET /silent')).status, 503);
});
