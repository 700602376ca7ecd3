// Which members of Node's and Express's requests and answers an app has, and which it lacks. Without a network.
import { EventEmitter } from 'node:events';
import { createServer, IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http';
import test from 'ava';
import express5 from 'express';
import express4 from 'express4';
import { ask, PlainExchange } from '../support/exchange.mjs';
import express, { createApp, Router } from '../support/http-app.mjs';

/** The answer of an app whose only handler is this one. */
function answerTo(handler, target = '/', given = {}, method = 'GET') {
  return ask(createApp().all('*', handler), method, target, given);
}

/** The request as a handler sees it. */
async function seen(read, headers = [], given = {}) {
  let value;
  const { error } = await answerTo(
    (req, res) => {
      value = read(req);
      res.end();
    },
    '/path?a=b',
    { headers, ...given },
    given.body === undefined ? 'GET' : 'POST',
  );
  if (error !== undefined) throw error;
  return value;
}

test("headers by Node's names", async (t) => {
  const { headers } = await answerTo((_req, res) => {
    t.is(res.setHeader('X-One', 1), res);
    t.is(res.getHeader('x-one'), '1');
    t.is(res.getHeader('X-None'), undefined);
    res.setHeader('Set-Cookie', ['a=1', 'b=2']);
    t.deepEqual(res.getHeader('set-cookie'), ['a=1', 'b=2']);
    t.is(res.appendHeader('X-One', '2'), res);
    t.deepEqual(
      { ...res.getHeaders() },
      {
        'content-type': 'text/html; charset=utf-8',
        server: 'Millrace',
        'x-one': ['1', '2'],
        'set-cookie': ['a=1', 'b=2'],
      },
    );
    t.deepEqual(res.getHeaderNames(), ['content-type', 'server', 'x-one', 'set-cookie']);
    t.true(res.hasHeader('SERVER'));
    t.is(res.removeHeader('server'), undefined);
    t.false(res.hasHeader('Server'));
    res.header('X-Two', 'b').header({ 'X-Three': 'c' });
    t.false(res.headersSent);
    t.false(res.writableEnded);
    res.end();
    t.true(res.headersSent);
    t.true(res.writableEnded);
  });
  t.deepEqual(headers, {
    'content-type': ['text/html; charset=utf-8'],
    'x-one': ['1', '2'],
    'set-cookie': ['a=1', 'b=2'],
    'x-two': ['b'],
    'x-three': ['c'],
  });
});

test('changing a returned headers object does not change the answer', async (t) => {
  await answerTo((_req, res) => {
    res.setHeader('X-A', ['1', '2']);
    res.getHeader('X-A').push('3');
    res.getHeaders()['x-b'] = '4';
    t.deepEqual(res.getHeader('X-A'), ['1', '2']);
    t.false(res.hasHeader('X-B'));
    res.end();
  });
  const { headers } = await answerTo((_req, res) => res.end());
  t.deepEqual(headers, { 'content-type': ['text/html; charset=utf-8'], server: ['Millrace'] });
});

test('a stream has ended when it was ended', async (t) => {
  await answerTo(async (_req, res) => {
    res.write('a');
    t.true(res.headersSent);
    t.false(res.writableEnded);
    res.end();
    t.true(res.writableEnded);
  });
  await answerTo(async (_req, res) => {
    t.true(await res.stream(['a', 'b']));
    t.true(res.writableEnded);
  });
});

test('vary adds missing fields', async (t) => {
  const { headers } = await answerTo((_req, res) => {
    res.vary('Origin').vary(['origin', 'Accept']).vary('Accept, Cookie').end();
  });
  t.deepEqual(headers.vary, ['Origin, Accept, Cookie']);
  t.deepEqual((await answerTo((_req, res) => res.vary('*').vary('Origin').end())).headers.vary, ['*']);
});

test('location escapes characters that a URL cannot have', async (t) => {
  const to = async (url) => (await answerTo((_req, res) => res.location(url).end())).headers.location[0];
  t.is(await to('/a?b=c%20d#e'), '/a?b=c%20d#e');
  t.is(await to('/\u20ac <b>'), '/%E2%82%AC%20%3Cb%3E');
  t.is(await to('https://example.org:1/%zz'), 'https://example.org:1/%25zz');
});

test('a status message is the name of the status, unless it is set', async (t) => {
  const { headers, status } = await answerTo((_req, res) => {
    t.is(res.statusMessage, 'OK');
    res.statusCode = 404;
    t.is(res.statusMessage, 'Not Found');
    res.statusMessage = 'Gone Fishing';
    t.is(res.statusMessage, 'Gone Fishing');
    res.json({});
  });
  t.is(status, 404);
  t.deepEqual(headers[':reason'], ['Gone Fishing']);
  const failed = await answerTo((_req, res) => {
    res.statusMessage = 'Fine';
    throw new Error('it is not');
  });
  t.is(failed.headers[':reason'], undefined);
});

test("names of statuses are the platform's", async (t) => {
  for (const [code, name] of Object.entries(STATUS_CODES).filter(([number]) => number >= 200)) {
    t.is((await answerTo((_req, res) => res.sendStatus(Number(code)))).body, `${code} ${name}`);
  }
});

test('originalUrl stays, even if a middleware changes url', async (t) => {
  t.deepEqual(
    await seen((req) => {
      req.url = '/other';
      return [req.url, req.originalUrl];
    }),
    ['/other', '/path?a=b'],
  );
});

test('header is get, and both know the referrer by its two names', async (t) => {
  t.deepEqual(
    await seen(
      (req) => [req.header('REFERRER'), req.get('referer'), req.header('X-A'), req.header('x-b')],
      ['referer', 'http://a/', 'x-a', '1'],
    ),
    ['http://a/', 'http://a/', '1', undefined],
  );
  await t.throwsAsync(
    seen((req) => req.header()),
    { instanceOf: TypeError, message: /argument 'name' must be a text, not undefined/ },
  );
});

for (const [host, name] of [
  ['example.org', 'example.org'],
  ['example.org:8080', 'example.org'],
  ['[::1]:8080', '[::1]'],
  ['[::1]', '[::1]'],
  ['', undefined],
]) {
  test(`the hostname of '${host}'`, async (t) => {
    t.is(await seen((req) => req.hostname, ['host', host]), name);
  });
}

test('is: the type of the body, null without one', async (t) => {
  const is = (type, ...types) =>
    seen((req) => req.is(...types), type === undefined ? [] : ['content-type', type], { body: '{}' });
  t.is(await is('application/json; charset=utf-8', 'json'), 'json');
  t.is(await is('application/json', ['html', 'application/*']), 'application/json');
  t.is(await is('application/problem+json', '+json'), 'application/problem+json');
  t.is(await is('multipart/form-data; boundary=a', 'multipart'), 'multipart');
  t.is(await is('text/plain', 'json', 'html'), false);
  t.is(await is('nonsense', 'json'), false);
  t.is(await is(undefined, 'json'), false);
  t.is(await seen((req) => req.is('json'), ['content-type', 'application/json']), null);
});

test('accepts: the type that the client prefers', async (t) => {
  const headers = [
    ...['accept', 'text/html;q=0.5, application/json, image/*;q=0.1'],
    ...['accept-encoding', 'gzip;q=0.5, br'],
    ...['accept-language', 'de;q=0.5, en'],
    ...['accept-charset', 'utf-8'],
  ];
  const read = (req) => [
    req.accepts('html', 'json'),
    req.accepts(['html', 'png']),
    req.accepts('text/plain'),
    req.accepts(),
    req.acceptsEncodings('gzip', 'br'),
    req.acceptsEncodings(),
    req.acceptsLanguages(['de', 'fr']),
    req.acceptsLanguages(),
    req.acceptsCharsets('utf-8', 'latin1'),
    req.acceptsCharsets('latin1'),
    req.acceptsCharsets(),
  ];
  t.deepEqual(await seen(read, headers), [
    ...['json', 'html', false, ['application/json', 'text/html', 'image/*']],
    ...['br', ['br', 'gzip', 'identity']],
    ...['de', ['en', 'de']],
    ...['utf-8', false, ['utf-8']],
  ]);
  t.is(await seen((req) => req.accepts('html', 'json')), 'html');
});

test('only a trusted proxy can set the protocol to https', async (t) => {
  const read = (said, more = {}) => {
    const exchange = Object.assign(
      new PlainExchange('GET', '/', { headers: said === undefined ? [] : ['x-forwarded-proto', said] }),
      more,
    );
    let value;
    const app = createApp().get('/', (req, res) => {
      value = [req.protocol, req.secure];
      res.end();
    });
    app[Symbol.for('millrace.exchange')](exchange);
    return value;
  };
  const trusted = { isForwarded: true };
  t.deepEqual(read('https'), ['http', false]);
  t.deepEqual(read('https', trusted), ['https', true]);
  t.deepEqual(read('HTTPS, http', trusted), ['https', true]);
  t.deepEqual(read('http', { ...trusted, encrypted: true }), ['http', false]);
  t.deepEqual(read('http', { encrypted: true }), ['https', true]);
  t.deepEqual(read('gopher', trusted), ['http', false]);
  t.deepEqual(read(undefined, { ...trusted, encrypted: true }), ['https', true]);
});

test('the app is there, for its settings', async (t) => {
  const app = createApp().set('answer', 42);
  app.get('/', (req, res) => res.json([req.app === app, res.app === app, req.app.get('answer')]));
  t.is((await ask(app, 'GET', '/')).body, '[true,true,42]');
});

test('locals of an app and of an answer are objects of the program, without a prototype', async (t) => {
  const app = createApp();
  app.locals.title = 'Mill';
  app.use((_req, res, next) => {
    res.locals.user = 'anna';
    next();
  });
  app.get('/', (req, res) => res.json([req.app.locals, res.app.locals === app.locals, res.locals]));
  app.get('/replaced', (_req, res) => {
    res.locals = { user: 'ben' };
    res.json(res.locals);
  });
  t.is((await ask(app, 'GET', '/')).body, '[{"title":"Mill"},true,{"user":"anna"}]');
  t.is((await ask(app, 'GET', '/replaced')).body, '{"user":"ben"}');
  t.is(createApp().locals.toString, undefined);
  await answerTo((_req, res) => {
    t.is(res.locals.toString, undefined);
    res.end();
  });
});

test('data of an answer belongs to one request', async (t) => {
  const app = createApp().get('/', (_req, res) => {
    res.locals.count = (res.locals.count ?? 0) + 1;
    res.json(res.locals.count);
  });
  await ask(app, 'GET', '/');
  t.is((await ask(app, 'GET', '/')).body, '1');
});

/** What Node's message has, without what is private or every object's. */
function membersOf(message) {
  const names = new Set();
  for (let at = message; at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) if (!name.startsWith('_')) names.add(name);
  }
  names.delete('constructor');
  return [...names];
}

test("every member of Node's is there, or an error that names it", async (t) => {
  const server = createServer();
  const req = new IncomingMessage(null);
  const res = new ServerResponse(req);
  server.close();
  const unknown = { req: [], res: [] };
  await answerTo((ownReq, ownRes) => {
    for (const [name, own, others] of [
      ['req', ownReq, membersOf(req)],
      ['res', ownRes, membersOf(res)],
    ]) {
      for (const member of others) if (!(member in own)) unknown[name].push(member);
    }
    ownRes.end();
  });
  // what only the client's side has, what a program does not use, and helpers of streams that need a stream first
  const known = {
    req: /^(statusCode|statusMessage|joinDuplicateHeaders|readableBuffer|compose|iterator|filter|forEach|some|find|every|flatMap|drop|take|reduce|map|asIndexedPairs)$/,
    res: /^(outputData|outputSize|maxRequestsOnConnectionReached)$/,
  };
  for (const name of ['req', 'res']) {
    t.deepEqual(
      unknown[name].filter((member) => !known[name].test(member)),
      [],
    );
  }
  t.true(membersOf(req).includes('socket') && membersOf(new EventEmitter()).includes('on'));
});

for (const [version, theirs] of [
  ['4', express4],
  ['5', express5],
]) {
  test(`every member of Express ${version}'s app, router and express is there, or an error that names it`, (t) => {
    // what every function has, and the options and the state that routers keep for themselves
    const known =
      /^(length|name|prototype|arguments|caller|apply|call|params|caseSensitive|mergeParams|process_params|strict)$/;
    for (const [own, all] of [
      [createApp(), membersOf(theirs())],
      [new Router(), membersOf(theirs.Router())],
      [express, Object.keys(theirs)],
    ]) {
      const missing = all.filter((member) => !(member in own) && !known.test(member));
      t.deepEqual(missing, []);
      t.true(all.length > 5);
    }
  });
}

for (const [name, use] of [
  ['app.render', () => createApp().render('index')],
  ['app.engine', () => createApp().engine('ejs', () => {})],
  ['app.param', () => createApp().param('id', () => {})],
  ['app.route', () => createApp().route('/')],
  ['app.settings', () => createApp().settings.etag],
  ['app.on', () => createApp().on('mount', () => {})],
  ['app.search', () => createApp().search('/', () => {})],
  ['app.m-search', () => createApp()['m-search']('/', () => {})],
  ['router.param', () => new Router().param('id', () => {})],
  ['router.route', () => new Router().route('/')],
  ['express.static', () => express.static('public')],
  ['express.raw', () => express.raw()],
]) {
  test(`${name} is an error that names it when an app is set up`, (t) => {
    const error = t.throws(use, { name: 'MillraceError', code: 'ERR_MILLRACE_NODE_ONLY' });
    t.true(error.message.includes(`has no ${name},`), error.message);
    t.regex(error.message, /nodeHandler of 'millrace\/node'/);
  });
}

test('what apps have is not refused, and a program may add members to them', (t) => {
  const app = createApp();
  for (const method of ['get', 'post', 'delete', 'all', 'use', 'listen', 'set', 'enable', 'disabled']) {
    t.is(typeof app[method], 'function', method);
  }
  app.settings = { mine: true };
  t.deepEqual(app.settings, { mine: true });
  t.throws(() => createApp().settings, { code: 'ERR_MILLRACE_NODE_ONLY' });
});

for (const [member, use] of [
  ['req.socket', (req) => req.socket.remoteAddress],
  ['req.on', (req) => req.on('data', () => {})],
  ['req.pipe', (req) => req.pipe(process.stdout)],
  [
    'req[Symbol.asyncIterator]',
    async (req) => {
      for await (const _piece of req);
    },
  ],
  ['req.baseUrl', (req) => req.baseUrl],
  ['res.on', (_req, res) => res.on('finish', () => {})],
  ['res.writeHead', (_req, res) => res.writeHead(200)],
  ['res.socket', (_req, res) => res.socket],
  ['res.sendFile', (_req, res) => res.sendFile('/a')],
  ['app.render', (req) => req.app.render('index')],
  ['app.engine', (_req, res) => res.app.engine('ejs')],
]) {
  test(`${member} is an error that names it and what has it`, async (t) => {
    const { status, error } = await answerTo(use);
    t.is(status, 500);
    t.is(error.name, 'MillraceError');
    t.is(error.code, 'ERR_MILLRACE_NODE_ONLY');
    t.true(error.message.includes(`has no ${member},`), error.message);
    t.regex(error.message, /nodeHandler of 'millrace\/node'/);
  });
}

test('a program may set a missing member, and inspecting an object uses none', async (t) => {
  const { body } = await answerTo((req, res) => {
    req.baseUrl = '/mine';
    t.notThrows(() => ({ ...req, ...res }));
    t.notThrows(() => JSON.stringify(req));
    res.send(req.baseUrl);
  });
  t.is(body, '/mine');
  t.is((await answerTo((req, res) => res.send(typeof req.baseUrl))).status, 500);
});
