// Which handlers run for a request, and in which order: patterns, middlewares, mounted routers. Without a network.
import test from 'ava';
import { ask } from '../support/exchange.mjs';
import express, { createApp, Express, Router } from '../support/http-app.mjs';

/** The answer of an app with these routes to GET: a body, or a status. */
async function bodyOf(app, target, method = 'GET') {
  const { status, body } = await ask(app, method, target);
  return status === 200 ? body : status;
}

const params = (req, res) => res.send(JSON.stringify(req.params));

for (const [pattern, matching, others] of [
  ['/users', { '/users': {}, '/users?page=2': {} }, ['/users/', '/Users', '/users/1', '/user', '/']],
  [
    '/users/:id',
    { '/users/7': { id: '7' }, '/users/a%20b': { id: 'a b' } },
    ['/users/', '/users', '/users/7/', '/users/7/8'],
  ],
  ['/:a/:b_2', { '/x/y': { a: 'x', b_2: 'y' } }, ['/x', '/x/y/z', '//y']],
  ['/flights/:from-:to.json', { '/flights/HEL-TKU.json': { from: 'HEL', to: 'TKU' } }, ['/flights/HEL.json']],
  ['/re.x', { '/re.x': {} }, ['/reZx', '/rex']],
  ['/a+(b)|[c]{d}!$^', { '/a+(b)|[c]{d}!$^': {} }, ['/aab', '/a', '/b']],
  ['/a*b', { '/a*b': {} }, ['/ab', '/aXb']],
  ['/files/*', { '/files/a/b.txt': { '*': 'a/b.txt' }, '/files/': {} }, ['/files', '/filesystem/a']],
  ['/files/*rest', { '/files/a/b%2Fc': { rest: 'a/b/c' } }, ['/files']],
  ['/caf\u00e9', { '/caf%C3%A9': {}, '/caf%c3%a9': {} }, ['/cafe']],
  ['/caf%C3%A9', { '/caf%C3%A9': {} }, ['/caf']],
  ['/a%2Fb', { '/a%2Fb': {}, '/a%2fb': {} }, ['/a/b', '/a%252Fb']],
  ['/@me+you', { '/@me+you': {}, '/%40me%2Byou': {} }, ['/me']],
  ['*', { '/': {}, '/a/b': { '*': 'a/b' } }, []],
  ['/:id', { '/50%2525': { id: '50%25' }, '/%3Aid': { id: ':id' }, '/__proto__': { id: '__proto__' } }, ['/']],
]) {
  test(`the pattern ${pattern}`, async (t) => {
    const app = createApp().get(pattern, params);
    for (const [path, expected] of Object.entries(matching))
      t.is(await bodyOf(app, path), JSON.stringify(expected), path);
    for (const path of others) t.is(await bodyOf(app, path), 404, path);
  });
}

test('a parameter called __proto__ is one', async (t) => {
  const app = createApp().get('/:__proto__', (req, res) => res.send(String(Object.keys(req.params))));
  t.is(await bodyOf(app, '/a'), '__proto__');
});

test('a path with an invalid escape is answered with 400', async (t) => {
  const app = createApp().get('*', params);
  for (const path of ['/%', '/%zz', '/%ff', '/a%C3']) t.is(await bodyOf(app, path), 400, path);
});

test('a target that is a whole URL has a path', async (t) => {
  const app = createApp().get('/a', (req, res) => res.send(`${req.path} ${req.url}`));
  t.is(await bodyOf(app, 'http://example.org/a?b=1'), '/a http://example.org/a?b=1');
  t.is(await bodyOf(app, 'http://example.org'), 404);
});

// a table compares a few beginnings with a path, and looks many up
for (const others of [0, 20]) {
  test(`the first route in order of registration answers, beside ${others} other beginnings`, async (t) => {
    const app = createApp();
    for (let at = 0; at < others; at += 1) app.get(`/other${at}/:id`, (_req, res) => res.send('other'));
    for (const [path, name] of [
      ['/users/me', 'me'],
      ['/users/:id', 'id'],
      ['/users/you', 'you'],
      ['/:kind/you', 'kind'],
      ['/x/*', 'rest'],
      ['/x/:id', 'x'],
      ['*', 'any'],
      ['/late', 'late'],
    ]) {
      app.get(path, (_req, res) => res.send(name));
    }
    for (const [path, name] of Object.entries({
      '/users/me': 'me',
      '/users/you': 'id',
      '/x/you': 'kind',
      '/x/1': 'rest',
      '/late': 'any',
      '/': 'any',
    })) {
      t.is(await bodyOf(app, path), name, path);
    }
  });
}

test('the index of routes leaves none out: random routes and paths, compared with trying every one', async (t) => {
  let seed = 7;
  const random = (n) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % n;
  };
  const parts = ['a', 'b', 'ab', ':x', 'a:y', ':p-:q', '*'];
  const pathOf = (choose) => `/${Array.from({ length: random(4) }, choose).join('/')}${random(4) === 0 ? '/' : ''}`;
  const expressionOf = (pattern) =>
    new RegExp(
      `^${pattern
        .replace(/(?<=\/)\*$/, '.*')
        .replaceAll(/(?<!\.)\*/g, '\\*')
        .replaceAll(/:\w+/g, '[^/]+')}$`,
    );
  for (let round = 0; round < 200; round += 1) {
    const app = createApp();
    const patterns = Array.from({ length: 8 }, () => pathOf(() => parts[random(parts.length)]));
    for (const [at, pattern] of patterns.entries()) app.get(pattern, (_req, res) => res.send(String(at)));
    for (let asked = 0; asked < 20; asked += 1) {
      const path = pathOf(() => ['a', 'b', 'ab', 'a-b', 'c'][random(5)]);
      const first = patterns.findIndex((pattern) => expressionOf(pattern).test(path));
      t.is(await bodyOf(app, path), first < 0 ? 404 : String(first), `${path} in ${patterns.join(' ')}`);
    }
  }
});

test('paths of slashes cost no more than others', async (t) => {
  const app = createApp().get('/:a', params).get('/a/*', params);
  const path = '/'.repeat(8000);
  for (let round = 0; round < 5000; round += 1) if ((await bodyOf(app, path)) !== 404) t.fail();
  t.pass();
});

test('methods: all takes any, HEAD is answered by GET, the others by their own', async (t) => {
  const app = createApp();
  for (const name of ['get', 'post', 'put', 'delete', 'patch'])
    app[name]('/', (req, res) => res.send(`${name} ${req.method}`));
  app.all('/all', (req, res) => res.send(`all ${req.method}`));
  app.head('/head', (_req, res) => res.send('head'));
  app.get('/head', (_req, res) => res.send('get'));
  app.options('/options', (_req, res) => res.send('options'));
  for (const name of ['get', 'post', 'put', 'delete', 'patch']) {
    t.is(await bodyOf(app, '/', name.toUpperCase()), `${name} ${name.toUpperCase()}`);
  }
  t.is(await bodyOf(app, '/', 'HEAD'), 'get HEAD');
  t.is(await bodyOf(app, '/all', 'PROPFIND'), 'all PROPFIND');
  t.is(await bodyOf(app, '/head', 'HEAD'), 'head');
  t.is(await bodyOf(app, '/head'), 'get');
  t.is(await bodyOf(app, '/options', 'OPTIONS'), 'options');
});

test('another method gets 405, OPTIONS the available methods, and an unknown path 404', async (t) => {
  const app = createApp().get('/a', params).put('/:b', params).post('/p', params);
  const wrong = await ask(app, 'DELETE', '/a');
  t.is(wrong.status, 405);
  t.is(wrong.body, 'Method Not Allowed');
  t.deepEqual(wrong.headers.allow, ['GET, HEAD, OPTIONS, PUT']);
  const asked = await ask(app, 'OPTIONS', '/p');
  t.is(asked.status, 204);
  t.deepEqual(asked.headers.allow, ['OPTIONS, POST, PUT']);
  t.deepEqual((await ask(app, 'OPTIONS', '*')).headers.allow, ['GET, HEAD, OPTIONS, POST, PUT']);
  const missing = await ask(app, 'GET', '/a/b');
  t.is(missing.status, 404);
  t.is(missing.body, 'Not Found');
});

test('middlewares run before any route, in order, wherever they were registered', async (t) => {
  const app = createApp();
  const mark = (name) => (_req, res, next) => {
    res.append('X-Order', name);
    next();
  };
  app.use(mark('first'));
  app.get('/a', (_req, res) => res.send('a'));
  app.use(mark('second'), [mark('third')]);
  const { headers } = await ask(app, 'GET', '/a');
  t.deepEqual(headers['x-order'], ['first', 'second', 'third']);
  t.deepEqual((await ask(app, 'GET', '/none')).headers['x-order'], ['first', 'second', 'third']);
});

test('the path of a middleware matches whole segments, however they are encoded', async (t) => {
  const app = createApp();
  app.use('/stop', (_req, res) => res.send('stopped'));
  app.use(['/one/', '/:two/in'], (req, res) => res.send(`prefix ${JSON.stringify(req.params)}`));
  app.get('*', (_req, res) => res.send('passed'));
  for (const path of ['/stop', '/stop/', '/stop/a', '/s%74op/a', '/%73top'])
    t.is(await bodyOf(app, path), 'stopped', path);
  app.use('/@me', (_req, res) => res.send('mine'));
  for (const path of ['/@me', '/%40me', '/%40me/a']) t.is(await bodyOf(app, path), 'mine', path);
  for (const path of ['/stopnext', '/', '/Stop', '/a/stop', '/stop%2Fa']) t.is(await bodyOf(app, path), 'passed', path);
  t.is(await bodyOf(app, '/one/x'), 'prefix {}');
  t.is(await bodyOf(app, '/2/in/x'), 'prefix {"two":"2"}');
});

test('several handlers of a route: next continues, also later, and after the route', async (t) => {
  const app = createApp();
  app.get('/a', (_req, _res, next) => setImmediate(next), [
    (req, res, next) => next(),
    (_req, res) => res.send('last'),
  ]);
  app.get(
    '/b',
    (_req, _res, next) => next('route'),
    (_req, res) => res.send('not this'),
  );
  app.get('/b', (_req, _res, next) => next());
  app.get('/:any', (req, res) => res.send(`any ${req.params.any}`));
  t.is(await bodyOf(app, '/a'), 'last');
  t.is(await bodyOf(app, '/b'), 'any b');
});

test('a route whose last handler calls next: 404, not 405', async (t) => {
  t.is(
    await bodyOf(
      createApp().get('/a', (_req, _res, next) => next()),
      '/a',
    ),
    404,
  );
});

test('next counts once, and not after the answer', async (t) => {
  const app = createApp();
  let calls = 0;
  app.use((_req, _res, next) => {
    next();
    next();
  });
  app.use((_req, res, next) => {
    calls += 1;
    res.send('answered');
    next();
  });
  app.get('/', () => t.fail('the answer was sent'));
  t.is(await bodyOf(app, '/'), 'answered');
  t.is(calls, 1);
});

test('async handlers are waited for', async (t) => {
  const app = createApp();
  app.use(async (_req, res, next) => {
    await new Promise(setImmediate);
    res.set('X-Waited', 'yes');
    next();
  });
  app.get('/', async (_req, res) => {
    await new Promise(setImmediate);
    res.send('late');
  });
  const { body, headers } = await ask(app, 'GET', '/');
  t.is(body, 'late');
  t.deepEqual(headers['x-waited'], ['yes']);
});

test('routers are mounted, in each other, with what they use', async (t) => {
  const inner = new Router();
  inner.use((_req, res, next) => {
    res.append('X-Met', 'inner');
    next();
  });
  inner.get('/', (req, res) => res.send(`root ${req.params.user}`));
  inner.get('/:post', params);
  const outer = Router();
  outer.use('/:user/posts', inner);
  outer.get('/:user', (req, res) => res.send(`user ${req.params.user} at ${req.path}`));
  const app = new Express();
  app.use('/api/users', outer);
  // what is added later is there, too
  inner.get('/:post/late', (_req, res) => res.send('late'));
  t.is(await bodyOf(app, '/api/users/7'), 'user 7 at /api/users/7');
  t.is(await bodyOf(app, '/api/users/7/posts'), 'root 7');
  t.is(await bodyOf(app, '/api/users/7/posts/9'), '{"user":"7","post":"9"}');
  inner.get('/:post/later', (_req, res) => res.send('later'));
  t.is(await bodyOf(app, '/api/users/7/posts/9/late'), 'late');
  t.is(await bodyOf(app, '/api/users/7/posts/9/later'), 'later');
  t.is(await bodyOf(app, '/7'), 404);
  t.deepEqual((await ask(app, 'GET', '/api/users/7/posts/1')).headers['x-met'], ['inner']);
  t.is((await ask(app, 'GET', '/api/users/7')).headers['x-met'], undefined);
  t.throws(() => inner.use(outer), { instanceOf: TypeError, message: /within itself/ });
  t.throws(() => inner.use(inner), { instanceOf: TypeError });
});

test('every registration returns what it was called on', async (t) => {
  for (const router of [createApp(), new Router()]) {
    for (const name of ['get', 'head', 'post', 'put', 'delete', 'patch', 'options', 'all', 'use']) {
      t.is(router[name]('/a', params), router, name);
    }
    t.is(router.use(params), router);
  }
  const app = createApp();
  t.is(app.ws('/', {}), app);
  t.is(app.set('a', 1), app);
});

test('wrong arguments are named', (t) => {
  const app = createApp();
  for (const [call, message] of [
    [() => app.get('users', params), /a path must be a string that begins with '\/', or '\*', not users/],
    [() => app.post('/a'), /post: a handler is missing/],
    [() => app.post('/a', 'handler'), /post: a handler must be a function or a router, not handler/],
    [() => app.get('/a', new Router()), /get: a router is mounted with 'use'/],
    [() => app.use(), /use: a handler is missing/],
    [() => app.use('/a', undefined), /use: a handler must be/],
    [() => app.get(/a/, params), /a path must be a string/],
    [() => app.get('/a?', params), /has no '\?'/],
    [() => app.get('/:a:b', params), /between two parameters/],
    [() => app.set('json body', 'yes'), /'json body' must be true or false/],
    [() => app.set('body limit', -1), /'body limit' must be a number of bytes/],
    [() => app.listen(65_536), /argument 'port' must be a whole number from 0 to 65535, not 65536/],
    [() => app.listen('x'), /argument 'port'/],
    [() => app.listen(0, 7), /argument 'host'/],
    [() => app.listen({ bind: ':0', threads: 2 }), /options\.threads is for 'start'/],
    [() => app.ws('/a'), /ws: the handlers must be an object/],
    [() => app.ws('/a', { mesage() {} }), /ws: unknown handler 'mesage'/],
    [() => app.ws('a', {}), /a path must be/],
  ]) {
    t.throws(call, { instanceOf: TypeError, message }, String(call));
  }
});

test('settings: known ones have defaults, others are remembered', (t) => {
  const app = createApp();
  t.is(app.get('json body'), false);
  t.is(app.get('body limit'), 1024 * 1024);
  t.is(app.set('title', 'mine').get('title'), 'mine');
  t.is(app.disable('x-powered-by').get('x-powered-by'), false);
  t.is(app.enable('json body').get('json body'), true);
  t.deepEqual([app.enabled('json body'), app.disabled('json body')], [true, false]);
  t.deepEqual([app.enabled('x-powered-by'), app.disabled('x-powered-by')], [false, true]);
});

test("Express's names are there", (t) => {
  t.is(typeof express, 'function');
  t.true(express() instanceof Express);
  t.true(express.Router() instanceof Router);
  t.true(new express.Router() instanceof Router);
  t.true(express() instanceof Router);
});
