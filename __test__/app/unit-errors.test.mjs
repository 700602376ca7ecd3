// Errors in an app: error handlers, statuses, reports. Without a network.
import test from 'ava';
import { ask } from '../support/exchange.mjs';
import { createApp, HttpError } from '../support/http-app.mjs';

/** The answer of an app with these routes to GET: a body, or a status. */
async function bodyOf(app, target) {
  const { status, body } = await ask(app, 'GET', target);
  return status === 200 ? body : status;
}

for (const [name, fails] of [
  [
    'a handler that throws',
    () => {
      throw new Error('broken');
    },
  ],
  [
    'an async one',
    async () => {
      await new Promise(setImmediate);
      throw new Error('broken');
    },
  ],
  ['next with an error', (_req, _res, next) => next(new Error('broken'))],
  ['next with an error, later', (_req, _res, next) => setImmediate(next, new Error('broken'))],
]) {
  test(`${name} is answered with 500 and reported; error handlers see it first`, async (t) => {
    const app = createApp();
    app.get('/', (_req, res) => res.set('X-Begun', '1').status(201), fails);
    app.get(
      '/fails',
      (_req, res, next) => {
        res.set('Content-Type', 'image/png').set('X-Begun', '1');
        next();
      },
      fails,
    );
    const { status, headers, body, error } = await ask(app, 'GET', '/fails');
    t.is(status, 500);
    t.is(body, 'Internal Server Error');
    t.deepEqual(headers['content-type'], ['text/plain']);
    t.deepEqual(headers.connection, ['close']);
    t.is(headers['x-begun'], undefined);
    t.is(error.message, 'broken');

    app.use((error, _req, _res, next) => next(new Error(`${error.message} once`)));
    app.use('/other', (_error, _req, res, _next) => res.send('not for this path'));
    app.use(async (error, _req, res, _next) => {
      await new Promise(setImmediate);
      res.status(502).send(error.message);
    });
    const handled = await ask(app, 'GET', '/fails');
    t.is(handled.status, 502);
    t.is(handled.body, 'broken once');
    t.is(handled.error, undefined);
  });
}

test("a route's own error handler comes first; one that passes nothing on leads to 404", async (t) => {
  const app = createApp();
  app.get(
    '/own',
    () => {
      throw new Error('a');
    },
    (error, _req, res, _next) => res.send(`own ${error.message}`),
  );
  app.get('/gives-up', () => {
    throw new Error('a');
  });
  app.use((_error, _req, _res, next) => next());
  t.is(await bodyOf(app, '/own'), 'own a');
  t.is(await bodyOf(app, '/gives-up'), 404);
});

test('an error with a status of the client is answered with that and not reported', async (t) => {
  const app = createApp();
  app.get('/a', () => {
    throw new HttpError(409);
  });
  app.get('/b', (_req, _res, next) => next(Object.assign(new Error('secret'), { statusCode: 403 })));
  app.get('/c', () => {
    throw Object.assign(new Error('not a client’s fault'), { status: 200 });
  });
  for (const [path, status, body] of [
    ['/a', 409, 'Conflict'],
    ['/b', 403, 'Forbidden'],
  ]) {
    const answer = await ask(app, 'GET', path);
    t.is(answer.status, status);
    t.is(answer.body, body);
    t.is(answer.error, undefined);
  }
  t.is((await ask(app, 'GET', '/c')).status, 500);
});

test('any thrown value is reported unchanged', async (t) => {
  const app = createApp();
  app.get('/:what', (req) => {
    throw { null: null, text: 'text', zero: 0 }[req.params.what];
  });
  for (const [what, thrown] of Object.entries({ null: null, text: 'text', zero: 0 })) {
    const app2 = createApp().get('/', async () => {
      throw thrown;
    });
    const { status, error } = await ask(app2, 'GET', '/');
    t.is(status, 500);
    t.is(error, thrown, what);
  }
  t.is((await ask(app, 'GET', '/text')).error, 'text');
});

test('an error after the answer is reported, and the answer stays', async (t) => {
  const app = createApp();
  app.get('/', async (_req, res) => {
    res.send('fine');
    await new Promise(setImmediate);
    throw new Error('afterwards');
  });
  const { status, body, error } = await ask(app, 'GET', '/');
  t.is(status, 200);
  t.is(body, 'fine');
  t.is(error.message, 'afterwards');
});
