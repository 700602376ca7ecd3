// Invalid or incomplete bodies for a handler that reads them, `fetch` or an app: the answer to the client.
import test from 'ava';

import { answerOf, everything } from '../support/app-client.mjs';
import { talk } from '../support/http-connection.mjs';
import { ownServer, worker } from '../support/server.mjs';

const LIMIT = 100_000;
const CHUNKED = 'Transfer-Encoding: chunked';
const chunk = (size) => `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`;

for (const [name, path] of [
  ['fetch', '/text'],
  ['app', '/bytes'],
]) {
  const served = (t, bodyTimeoutMs) =>
    ownServer(t, { workerPath: worker(name), threads: 1, limits: { bodyTimeoutMs, bodyBytes: LIMIT } });
  const head = (...lines) => `POST ${path} HTTP/1.1\r\n${['Host: a', ...lines].join('\r\n')}\r\n\r\n`;

  test(`${name}: malformed chunks, and too many of them`, async (t) => {
    const server = await served(t, 60_000);
    for (const [status, body] of [
      [400, `${chunk(5)}zz\r\n`],
      [400, '5\r\nhello!\r\n'],
      [400, `${chunk(5)}0\r\nbad trailer\r\n\r\n`],
      [413, `${chunk(LIMIT)}${chunk(1)}0\r\n\r\n`],
    ]) {
      const answer = answerOf(await everything(server.addresses[0], head(CHUNKED) + body));
      t.is(answer.status, status, body.slice(0, 40));
      t.regex(answer.headers.connection[0], /^close\b/);
    }
    const whole = head(CHUNKED, 'Connection: close') + chunk(LIMIT / 2) + chunk(LIMIT / 2);
    const fits = answerOf(await everything(server.addresses[0], `${whole}0\r\n\r\n`));
    t.is(fits.body.length, LIMIT);
    t.deepEqual(await server.errors(), []);
  });

  test(`${name}: an incomplete body gets 408, one that breaks off 400`, async (t) => {
    const [impatient, patient] = [await served(t, 400), await served(t, 60_000)];
    for (const begun of [
      `${head('Content-Length: 10')}half`,
      `${head('Content-Length: 50000')}half`,
      head(CHUNKED) + chunk(5),
    ]) {
      const slow = answerOf(await everything(impatient.addresses[0], begun));
      t.is(slow.status, 408, begun);
      const client = talk(t, patient.addresses[0]).write(begun).half();
      t.is((await client.answer()).status, 400, begun);
      await client.closed();
    }
    for (const server of [impatient, patient]) t.deepEqual(await server.errors(), []);
  });
}
