// The answers of handlers. Without a network.
import { Readable } from 'node:stream';
import test from 'ava';
import { ask, PlainExchange } from '../support/exchange.mjs';
import { createApp } from '../support/http-app.mjs';

/** The answer of an app whose only handler is this one. */
function answerTo(handler, target = '/', given = {}, method = 'GET') {
  return ask(createApp().all('*', handler), method, target, given);
}

const HTML = 'text/html; charset=utf-8';
const JSON_CHARSET = 'application/json; charset=utf-8';
const TEXT = 'text/plain; charset=utf-8';

for (const [name, handler, body, type, status = 200] of [
  ['send a string', (res) => res.send('<b>'), '<b>', HTML],
  ['send nothing', (res) => res.send(), '', HTML],
  ['send undefined', (res) => res.send(undefined), '', HTML],
  ['send an object', (res) => res.send({ a: [1] }), '{"a":[1]}', JSON_CHARSET],
  ['send an array', (res) => res.send([1, 2]), '[1,2]', JSON_CHARSET],
  ['send null', (res) => res.send(null), 'null', JSON_CHARSET],
  ['send a number', (res) => res.send(404), '404', HTML],
  ['send a boolean', (res) => res.send(false), 'false', HTML],
  ['send bytes', (res) => res.send(new Uint8Array([0, 255])), new Uint8Array([0, 255]), 'application/octet-stream'],
  ['send a buffer', (res) => res.send(new Uint8Array([7]).buffer), new Uint8Array([7]), 'application/octet-stream'],
  ['send bytes of a type', (res) => res.type('image/png').send(new Uint8Array([1])), new Uint8Array([1]), 'image/png'],
  ['send an object of a type', (res) => res.type('application/x-a').send({}), '{}', 'application/x-a'],
  ['json', (res) => res.json({ a: 1 }), '{"a":1}', JSON_CHARSET],
  ['json of an array', (res) => res.json([1, 2]), '[1,2]', JSON_CHARSET],
  ['json with a status', (res) => res.json({}, 201), '{}', JSON_CHARSET, 201],
  ['html', (res) => res.html('<p>'), '<p>', HTML],
  ['text', (res) => res.type('a/b').text('t'), 't', TEXT],
  ['sendStatus', (res) => res.sendStatus(404), '404 Not Found', TEXT, 404],
  ['sendStatus of an unknown one', (res) => res.sendStatus(299), '299 Unknown', TEXT, 299],
  ['status', (res) => res.status(201).send('made'), 'made', HTML, 201],
  ['end', (res) => res.end(), '', HTML],
  ['end with a body', (res) => res.end('last'), 'last', HTML],
  ['the first call counts', (res) => res.send('1').status(500).json(2).end().text('3'), '1', HTML],
]) {
  test(`res: ${name}`, async (t) => {
    const answer = await answerTo((_req, res) => handler(res));
    t.is(answer.status, status);
    t.deepEqual(answer.body, body);
    t.deepEqual(answer.headers, { 'content-type': [type], server: ['Millrace'] });
    const more = await answerTo((_req, res) => handler(res.set('X-More', 1)));
    t.deepEqual(more.headers, { 'content-type': [type], server: ['Millrace'], 'x-more': ['1'] });
  });
}

test('headers are set in any case, read, added to and removed', async (t) => {
  const { headers } = await answerTo((_req, res) => {
    t.is(res.get('Content-Type'), HTML);
    t.is(res.get('SERVER'), 'Millrace');
    t.is(res.get('none'), undefined);
    res.set('content-type', 'a/b').set({ 'X-One': '1', 'X-Two': ['2', '3'] });
    t.is(res.get('Content-Type'), 'a/b');
    t.is(res.get('x-two'), '2, 3');
    res.append('x-one', 'more').append('X-New', 'new').remove('Server').set('Content-Length', '99');
    t.false(res.headersSent);
    t.true(res.send('body').headersSent);
  });
  t.deepEqual(headers, { 'content-type': ['a/b'], 'x-one': ['1', 'more'], 'x-two': ['2', '3'], 'x-new': ['new'] });
});

test('values that would break the answer are refused', async (t) => {
  await answerTo((_req, res) => {
    for (const [call, message] of [
      [() => res.set('X-A', 'a\r\nSet-Cookie: b=c'), /header 'X-A' must be Latin-1 text without line breaks/],
      [() => res.set('X-A', 'a\nb'), /header 'X-A'/],
      [() => res.set('X-A', 'a\0b'), /header 'X-A'/],
      [() => res.set('X-A', '\u20ac'), /header 'X-A' must be Latin-1 text without/],
      [() => res.set('X-A', ['fine', 'a\rb']), /header 'X-A'/],
      [() => res.set('X-A'), /header 'X-A'/],
      [() => res.append('X-A', 'a\nb'), /header 'X-A'/],
      [() => res.set('X A', 'a'), /X A is not a valid header name/],
      [() => res.set('', 'a'), /is not a valid header name/],
      [() => res.set('X-A:', 'a'), /is not a valid header name/],
      [() => res.redirect('/a\r\nSet-Cookie: b=c'), /header 'Location'/],
      [() => res.status(99), /argument 'code' must be a whole number from 200 to 599/],
      [() => res.status('200'), /argument 'code'/],
      [() => res.setHeader('X-A', 'a\nb'), /header 'X-A'/],
      [() => res.header('X-A', 'a\nb'), /header 'X-A'/],
      [() => res.location('/a\r\nSet-Cookie: b=c'), /header 'Location'/],
      [() => res.vary('a b'), /invalid header name/],
      [() => Object.assign(res, { statusMessage: 'a\r\nb: c' }), /statusMessage must be Latin-1 text/],
      [() => res.cookie('a b', 'c'), /name is invalid: a b/],
      [() => res.cookie('a', 'c', { path: '/; Secure' }), /option path is invalid/],
      [() => res.cookie('a', 'c', { domain: 'a\nb' }), /option domain is invalid/],
      [() => res.cookie('a', 'c', { expires: 'tomorrow' }), /option expires is invalid: tomorrow/],
      [() => res.cookie('a', 'c', { maxAge: Number.NaN }), /options\.maxAge must be a number of milliseconds/],
      [() => res.cookie('a', 'c', { maxAge: '60' }), /options\.maxAge must be a number of milliseconds/],
      [() => res.cookie('a', 'c', { sameSite: 'maybe' }), /option sameSite is invalid: maybe/],
      [() => res.cookie('a', 'c', { sameSite: 'constructor' }), /option sameSite is invalid/],
      [() => res.cookie('a', 'c', { encode: () => 'a;b' }), /val is invalid/],
    ]) {
      t.throws(call, { instanceOf: TypeError, message }, String(call));
    }
    res.end();
  });
});

test('redirect', async (t) => {
  const to = async (...given) => {
    const { status, headers, body } = await answerTo((_req, res) => res.redirect(...given));
    return [status, headers.location[0], body, headers['content-type'][0]];
  };
  t.deepEqual(await to('/a?b=c'), [302, '/a?b=c', 'Redirecting to /a?b=c', TEXT]);
  t.deepEqual(await to('/a', true), [301, '/a', 'Redirecting to /a', TEXT]);
  t.deepEqual(await to(307, '/a'), [307, '/a', 'Redirecting to /a', TEXT]);
  t.is((await to('/\u20ac b'))[1], '/%E2%82%AC%20b');
});

test('setNoCache, setCache and setCors', async (t) => {
  const headersOf = async (handler) => {
    const {
      'content-type': _type,
      server: _server,
      ...headers
    } = (await answerTo((_req, res) => handler(res).end())).headers;
    return headers;
  };
  t.deepEqual(await headersOf((res) => res.setNoCache()), {
    'cache-control': ['no-store, no-cache, must-revalidate, proxy-revalidate'],
    pragma: ['no-cache'],
    expires: ['0'],
  });
  t.deepEqual(await headersOf((res) => res.setCache()), { 'cache-control': ['public, max-age=3600'] });
  t.deepEqual(await headersOf((res) => res.setCache(60)), { 'cache-control': ['public, max-age=60'] });
  const cors = {
    'access-control-allow-origin': ['*'],
    'access-control-allow-methods': ['GET, POST, PUT, DELETE, OPTIONS'],
    'access-control-allow-headers': ['Content-Type, Authorization'],
    'access-control-allow-credentials': ['true'],
  };
  t.deepEqual(await headersOf((res) => res.setCors()), cors);
  const origin = 'https://example.org';
  t.deepEqual(await headersOf((res) => res.setCors(origin)), { ...cors, 'access-control-allow-origin': [origin] });
});

test('write and end: a stream', async (t) => {
  const { status, headers, exchange } = await answerTo(async (_req, res) => {
    res.status(201).type('text/csv');
    t.true(res.write('a'));
    t.true(res.headersSent);
    res.status(500);
    t.true(res.write(new Uint8Array([1])));
    t.false(res.write('c'));
    await res.drained();
    res.send('too late').end('d');
  });
  t.is(status, 201);
  t.deepEqual(headers['content-type'], ['text/csv']);
  t.deepEqual(exchange.pieces, ['a', new Uint8Array([1]), 'c', 'd']);
  t.true(exchange.ended);
});

async function* generated() {
  yield 'a';
  yield 'b';
}

for (const [name, source] of [
  ['a web stream', () => new Blob(['ab']).stream()],
  ["one of Node's", () => Readable.from([Buffer.from('a'), Buffer.from('b')])],
  ['a generator', generated],
  ['an array', () => ['a', 'b']],
]) {
  test(`stream sends ${name}`, async (t) => {
    const { exchange, body } = await answerTo((_req, res) => res.stream(source()));
    // one piece with the end behind it is the whole
    const pieces = exchange.ended ? exchange.pieces : [body];
    t.is(Buffer.concat(pieces.map((piece) => Buffer.from(piece))).toString(), 'ab');
    t.false(exchange.aborted);
  });
}

test('a stream that fails cuts the connection and is reported', async (t) => {
  const { exchange, error } = await answerTo((_req, res) =>
    res.stream(
      (async function* () {
        yield 'a';
        throw new Error('the source broke');
      })(),
    ),
  );
  t.true(exchange.aborted);
  t.false(exchange.ended);
  t.is(error.message, 'the source broke');
});

for (const [name, make] of [
  ['a web stream', (cancelled) => new ReadableStream({ cancel: cancelled })],
  ["one of Node's", (cancelled) => new Readable({ read() {}, destroy: (_error, done) => done(cancelled()) })],
]) {
  test(`a client that disconnects cancels ${name}`, async (t) => {
    let wasCancelled = false;
    const source = make(() => {
      wasCancelled = true;
    });
    const exchange = new PlainExchange('GET', '/');
    const app = createApp().get('/', (_req, res) => res.stream(source));
    const handled = app[Symbol.for('millrace.exchange')](exchange);
    await new Promise(setImmediate);
    exchange.leave();
    await handled;
    t.true(wasCancelled);
    t.false(exchange.ended);
  });
}

test('HEAD streams nothing', async (t) => {
  let wasCancelled = false;
  const source = new ReadableStream({
    cancel() {
      wasCancelled = true;
    },
  });
  const { exchange, body } = await answerTo((_req, res) => res.stream(source), '/', {}, 'HEAD');
  t.deepEqual([...exchange.pieces, body], ['']);
  t.true(wasCancelled);
});

for (const [name, method, status] of [
  ['HEAD', 'HEAD', 200],
  ['204', 'GET', 204],
]) {
  test(`${name}: an endless source is ended instead of sent`, async (t) => {
    let wasEnded = false;
    function* endless() {
      try {
        for (;;) yield 'more ';
      } finally {
        wasEnded = true;
      }
    }
    const source = endless();
    source.next();
    const { exchange } = await answerTo((_req, res) => res.status(status).stream(source), '/', {}, method);
    t.deepEqual(exchange.pieces, []);
    await new Promise(setImmediate);
    t.true(wasEnded);
  });
}

test('HEAD keeps a length that was set, unless there is a body to be measured', async (t) => {
  const lengthOf = async (handler, method = 'HEAD') =>
    (await answerTo(handler, '/', {}, method)).headers['content-length'];
  t.deepEqual(await lengthOf((_req, res) => res.set('Content-Length', 99).end()), ['99']);
  t.is(await lengthOf((_req, res) => res.set('Content-Length', 99).end('body')), undefined);
  t.is(await lengthOf((_req, res) => res.set('Content-Length', 99).end(), 'GET'), undefined);
});

// biome-ignore lint/correctness/useYield: it fails before
async function* failing() {
  await new Promise(setImmediate);
  throw new Error('nothing came');
}

for (const [name, handler] of [
  ['returned', (_req, res) => res.stream(failing())],
  [
    'waited for',
    async (_req, res) => {
      if (await res.stream(failing())) throw new Error('nothing was sent');
    },
  ],
  ['forgotten', (_req, res) => void res.stream(failing())],
]) {
  test(`a stream that fails before its first piece is as a handler that fails: ${name}`, async (t) => {
    const app = createApp().get('/', handler);
    const { status, error } = await ask(app, 'GET', '/');
    t.is(status, 500);
    t.is(error.message, 'nothing came');
    app.use((failure, _req, res, _next) => res.status(404).send(failure.message));
    const handled = await ask(app, 'GET', '/');
    t.is(handled.status, 404);
    t.is(handled.body, 'nothing came');
  });
}

test('stream reports whether everything was sent, and does not begin after another answer', async (t) => {
  const told = [];
  await answerTo(async (_req, res) => told.push(await res.stream(['a', 'b'])));
  let wasCancelled = false;
  const source = new ReadableStream({
    cancel() {
      wasCancelled = true;
    },
  });
  const { body } = await answerTo(async (_req, res) => told.push(await res.send('first').stream(source)));
  t.is(body, 'first');
  t.true(wasCancelled);
  t.deepEqual(told, [true, false]);
});

test('another answer while a stream has given nothing yet', async (t) => {
  async function* endless() {
    await new Promise(setImmediate);
    for (;;) yield 'more ';
  }
  const { exchange, body } = await answerTo((_req, res) => {
    res.stream(endless());
    res.send('this one');
  });
  t.is(body, 'this one');
  t.deepEqual(exchange.pieces, []);
});

test('a value that is not a stream is refused', async (t) => {
  for (const source of [undefined, null, 5, 'text', {}]) {
    const { status, error } = await answerTo((_req, res) => res.stream(source));
    t.is(status, 500);
    t.true(error instanceof TypeError);
    t.regex(error.message, /stream: argument 'source' must be a web stream/);
  }
});

test('a client that has left is answered nothing more, and no handler is called', async (t) => {
  const exchange = new PlainExchange('GET', '/');
  const app = createApp();
  app.use((_req, _res, next) => {
    exchange.leave();
    next();
  });
  app.get('/', () => t.fail('nobody waits for the answer'));
  await app[Symbol.for('millrace.exchange')](exchange);
  t.is(exchange.answer, undefined);
});

test('locals are handed from one handler to the next', async (t) => {
  const app = createApp();
  app.use((_req, res, next) => {
    res.locals.user = 'anna';
    next();
  });
  app.get('/', (_req, res) => res.send(res.locals.user));
  t.is((await ask(app, 'GET', '/')).body, 'anna');
});

test('debug prints the answer so far', async (t) => {
  const printed = [];
  const { write } = process.stdout;
  process.stdout.write = (text) => printed.push(text) > 0;
  try {
    await answerTo((_req, res) => res.status(201).set('X-A', 'b').debug().send('\u20ac').debug());
  } finally {
    process.stdout.write = write;
  }
  const headers = '  Content-Type: text/html; charset=utf-8\n  Server: Millrace\n  X-A: b\n';
  t.deepEqual(printed, [`201 Created, not sent, 0 bytes\n${headers}`, `201 Created, sent, 3 bytes\n${headers}`]);
});
