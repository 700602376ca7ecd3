// Middlewares of npm on `millrace/http`: those that only set headers work, the others cause an error for their request
// that names the missing member. No error that they throw, now or later, ends the worker or the process.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import test from 'ava';

import { runtimePath } from '../../scripts/runtimes.mjs';
import { request } from '../support/app-client.mjs';
import { until, within } from '../support/deadline.mjs';
import { createApp } from '../support/http-app.mjs';
import { inEach } from '../support/runtimes.mjs';
import { worker } from '../support/server.mjs';
import { endWith } from '../support/teardown.mjs';

/** A worker, and the calling thread. */
const PLACES = [
  ['a worker', { workerPath: worker('middlewares'), threads: 1 }],
  ['the calling thread', { workerPath: worker('middlewares'), threads: 0 }],
];

inEach(test, 'header middlewares of npm run', async (t, { launch }) => {
  const server = await launch({ workerPath: worker('middlewares'), threads: 1 });
  const ask = (start, headers) => request(server.addresses[0], start, { headers });

  const cors = await ask('GET /cors', ['Origin: https://example.org']);
  t.is(cors.text, '{"ok":true}');
  t.like(cors.headers, {
    'access-control-allow-origin': ['https://example.org'],
    'access-control-allow-credentials': ['true'],
    'access-control-expose-headers': ['X-Total'],
    vary: ['Origin'],
  });
  const preflight = await ask('OPTIONS /cors', [
    'Origin: https://example.org',
    'Access-Control-Request-Method: PUT',
    'Access-Control-Request-Headers: X-A',
  ]);
  t.is(preflight.status, 204);
  t.like(preflight.headers, {
    'access-control-allow-methods': ['GET,HEAD,PUT,PATCH,POST,DELETE'],
    'access-control-allow-headers': ['X-A'],
    'access-control-max-age': ['60'],
    vary: ['Origin, Access-Control-Request-Headers'],
  });
  t.is(preflight.headers['content-length'], undefined);

  const { headers, text } = await ask('GET /helmet');
  t.is(text, '{"ok":true}');
  t.like(headers, {
    'strict-transport-security': ['max-age=31536000; includeSubDomains'],
    'x-content-type-options': ['nosniff'],
    'x-frame-options': ['SAMEORIGIN'],
    'cross-origin-opener-policy': ['same-origin'],
  });
  t.regex(headers['content-security-policy'][0], /^default-src 'self';/);

  const statuses = [];
  for (let index = 0; index < 3; index += 1) statuses.push(await ask('GET /limited'));
  t.deepEqual(
    statuses.map(({ status }) => status),
    [200, 200, 429],
  );
  t.regex(statuses[0].headers.ratelimit[0], /r=1; t=\d+/);
  t.regex(statuses[2].text, /Too many requests/);
  t.deepEqual(await server.errors(), []);
});

inEach(test, 'signed cookies, also behind cookie-parser', async (t, { launch }) => {
  const server = await launch({ workerPath: worker('middlewares'), threads: 1 });
  const ask = (start, headers) => request(server.addresses[0], start, { headers });
  const { headers } = await ask('GET /signed/a%20b');
  const [line] = headers['set-cookie'];
  t.regex(line, /^signed=s%3Aa%20b\.[\w%]+; Path=\/$/);
  const [pair] = line.split(';');
  const read = async (...cookies) => JSON.parse((await ask('GET /cookies', [`Cookie: ${cookies.join('; ')}`])).text);
  t.deepEqual(await read(pair, 'plain=1'), [{ plain: '1' }, { signed: 'a b' }]);
  t.deepEqual(await read(pair.replace('a%20b', 'a%20c')), [{}, { signed: false }]);
  // signed with the secret before this one, and with one that is none of the app's
  t.deepEqual(await read('old=s%3Ahello.8J8lclcrgFx0c5PwvxKr1ynyrybMzPNSQZW9%2Fdxo3HQ'), [{}, { old: 'hello' }]);
  t.deepEqual(await read('not=s%3Ahello.KZraQrmBrBUbTzn3XYmvPE16ZOSGsyaRZ8qMdbW%2F9YU'), [{}, { not: false }]);
  t.deepEqual(await server.errors(), []);
});

for (const [place, options] of PLACES) {
  inEach(test, `what needs Node's own request is an error that names it, on ${place}`, async (t, { launch }) => {
    const server = await launch(options);
    const [address] = server.addresses;
    const thread = async () => (await request(address, 'GET /thread')).text;
    const before = await thread();
    for (const [path, member] of [
      ['/morgan', 'res.writeHead'],
      ['/proxied', 'req.on'],
    ]) {
      t.is((await request(address, `GET ${path}`)).status, 500, path);
      const reported = async () =>
        (await server.errors()).find(
          ({ code, causeCode, message }) =>
            code === 'ERR_MILLRACE_HANDLER_FAILED' &&
            causeCode === 'ERR_MILLRACE_NODE_ONLY' &&
            message.includes(`no ${member}`),
        );
      await until(reported, `a report that names ${member}`);
      t.regex((await reported()).message, /nodeHandler of 'millrace\/node'/);
    }
    // the proxy's own request fails when its answer is long given
    await until(() => server.output.includes('ECONNREFUSED'), 'what failed later');
    t.is(await thread(), before);
  });

  inEach(test, `what is thrown later is the failure of its request, on ${place}`, async (t, { runtime, launch }) => {
    const server = await launch(options);
    const [address] = server.addresses;
    const thread = async () => (await request(address, 'GET /thread')).text;
    const before = await thread();
    const hows = { tick: 'in a tick', event: 'of an event', promise: 'in a promise' };
    // Deno does not tell what a timer belongs to
    if (runtime !== 'deno') Object.assign(hows, { timer: 'in a timer', immediate: 'in an immediate' });
    // Bun does not tell what a rejected promise belongs to
    if (runtime === 'bun') delete hows.promise;
    Object.assign(hows, {
      member: 'no res.writeHead',
      'member-in-promise': 'no req.on',
      wrapped: 'the library failed',
    });
    for (const [how, message] of Object.entries(hows)) {
      t.is((await request(address, `GET /late/${how}`)).status, 500, how);
      await until(
        async () => (await server.errors()).some((error) => error.message.includes(message)),
        `a report of ${how}`,
      );
      const handled = await request(address, `GET /handled/${how}`);
      t.is(handled.status, 418, how);
      t.true(handled.text.includes(message), handled.text);
      t.is((await request(address, `GET /after/${how}`)).text, 'fine');
      await until(() => server.output.includes(`failed after its answer: `), 'what failed after an answer');
    }
    t.is(await thread(), before);
  });
}

for (const kind of ['exception', 'rejection']) {
  inEach(
    test,
    `an ${kind === 'exception' ? 'error' : 'unhandled rejection'} of no request still ends the program`,
    async (t, { runtime }) => {
      const main = fileURLToPath(new URL('../support/outside-main.mjs', import.meta.url));
      const before = { node: [], bun: ['run'], deno: ['run', '-A', '--quiet'] }[runtime];
      const child = spawn(runtimePath(runtime), [...before, main, kind], { stdio: ['ignore', 'ignore', 'pipe'] });
      const exited = endWith(t, child);
      let printed = '';
      child.stderr.on('data', (text) => {
        printed += text;
      });
      const code = await within(exited, () => `the end of the program\n${printed}`);
      t.is(code, 1, printed);
      t.regex(printed, /outside of requests/);
      // where it was thrown first
      t.regex(printed, /outside-main\.mjs/);
    },
  );
}

inEach(test, 'what a trusted proxy says of the protocol counts', async (t, { launch }) => {
  const options = { workerPath: worker('middlewares'), threads: 1 };
  const bind = [{ address: '127.0.0.1:0', trustProxy: ['loopback'] }, '127.0.0.1:0'];
  const server = await launch({ ...options, bind });
  const headers = ['X-Forwarded-Proto: https', 'X-Forwarded-For: 192.0.2.7'];
  const told = async (address) => JSON.parse((await request(address, 'GET /protocol?a=b', { headers })).text);
  t.deepEqual(await told(server.addresses[0]), ['https', true, '192.0.2.7', 'localhost', '/protocol?a=b']);
  t.deepEqual(await told(server.addresses[1]), ['http', false, '127.0.0.1', 'localhost', '/protocol?a=b']);
});

inEach(test, "a status message is the status line's", async (t, { launch }) => {
  const server = await launch({ workerPath: worker('middlewares'), threads: 1 });
  t.is((await request(server.addresses[0], 'GET /message')).first, 'HTTP/1.1 200 Very Fine');
  t.is((await request(server.addresses[0], 'GET /message/stream')).first, 'HTTP/1.1 299 Piece by Piece');
});

test('cookies cannot be signed without a secret, nor read', async (t) => {
  const server = await createApp()
    .get('/sign', (_req, res) => res.cookie('a', 'b', { signed: true }).end())
    .get('/read', (req, res) => res.json(req.signedCookies))
    .use((error, _req, res, _next) => res.json([error.code, error.message]))
    .listen(0, '127.0.0.1').ready;
  t.teardown(() => server.close());
  for (const [path, what] of [
    ['/sign', "cookie 'a'"],
    ['/read', 'req.signedCookies'],
  ]) {
    const { text, headers } = await request(server.address, `GET ${path}`);
    const message = `${what} needs a secret: createApp({ cookieSecret: '\u2026' })`;
    t.deepEqual(JSON.parse(text), ['ERR_MILLRACE_NO_COOKIE_SECRET', message]);
    t.is(headers['set-cookie'], undefined);
  }
  for (const cookieSecret of ['', 5, [], [''], ['a', 5], null]) {
    t.throws(() => createApp({ cookieSecret }), { instanceOf: TypeError, message: /options\.cookieSecret must be/ });
  }
  t.throws(() => createApp('secret'), { instanceOf: TypeError, message: /argument 'options' must be an object/ });
});
