// Apps of Express 4 and 5, Koa, Fastify and NestJS, and a server of `node:http`, unchanged in workers: a client gets
// the same answers as on `node:http`.
import test from 'ava';

import { APPS, plainListener } from '../support/node-frameworks.mjs';
import { reference, run } from '../support/node-pair.mjs';
import { ownServer, RUNTIME, worker } from '../support/server.mjs';

const json = { 'Content-Type': 'application/json' };
const REQUESTS = [
  ['GET /APP/hello'],
  ['HEAD /APP/hello'],
  ['GET /APP/hello?a=b%20c&d=%zz', { Accept: 'application/json' }],
  ['POST /APP/echo', json, '{"a":[1,"é"]}'],
  ['POST /APP/echo', { ...json, 'Transfer-Encoding': 'chunked' }, '{"chunked":true}'],
  ['POST /APP/echo', json, '{"a":'],
  ['POST /APP/echo', { 'Content-Type': 'text/plain' }, 'text'],
  ['GET /APP/throw'],
  ['GET /APP/error'],
  ['GET /APP/redirect'],
  ['GET /APP/raw'],
  ['GET /APP/schema'],
  ['OPTIONS /APP/hello'],
  ['DELETE /APP/none'],
];

/** Its answer may have the text of the runtime's own error. */
const BROKEN_JSON = REQUESTS.findIndex(([, , body]) => body === '{"a":');

for (const [name, make] of Object.entries(APPS)) {
  const plain = reference(test, async () => plainListener(make()));
  test(name, async (t) => {
    const server = await ownServer(t, { workerPath: worker(`node-${name}`), threads: 2 });
    const program = { requests: REQUESTS.map(([line, ...rest]) => [line.replace('APP', name), ...rest]) };
    const expected = await run(plain.address, name, program);
    const answers = await run(server.addresses[0], name, program);
    for (const [index, [line]] of program.requests.entries()) {
      if (index === BROKEN_JSON && RUNTIME !== 'node') t.is(answers[index].status, expected[index].status, line);
      else t.deepEqual(answers[index], expected[index], line);
    }
    t.is(expected[0].status, 200);
    t.deepEqual(
      (await server.errors()).map((error) => error.message),
      [],
    );
  });
}
