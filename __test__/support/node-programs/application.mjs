// Programs for the members of Express 5's apps and routers: methods, mounting, parameters, settings, errors.
// Over 400 lines because the programs are one list.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import express from 'express';

const views = mkdtempSync(path.join(tmpdir(), 'millrace-views-'));
writeFileSync(path.join(views, 'page.txt'), 'Hello {name}, {all}, {own}!');
writeFileSync(path.join(views, 'broken.txt'), 'throw');

/** An app in production: errors are pages without stacks. */
function quiet() {
  const app = express();
  app.set('env', 'production');
  return app;
}

const METHODS = [
  'get',
  'post',
  'put',
  'delete',
  'patch',
  'options',
  'purge',
  'search',
  'm-search',
  'propfind',
  'lock',
  'trace',
];

export const methods = {
  make() {
    const app = quiet();
    for (const method of METHODS) app[method]('/one', (req, res) => res.send(`${method} ${req.method}`));
    app.all('/all', (req, res) => res.set('X-Method', req.method).send('all'));
    app.get('/get', (_req, res) => res.send('only get'));
    app.head('/head', (_req, res) => res.set('X-Head', 'own').end());
    return app;
  },
  requests: [
    ...METHODS.map((method) => [`${method.toUpperCase()} /one`]),
    ...['GET', 'HEAD', 'POST', 'REPORT', 'UNSUBSCRIBE'].map((method) => [`${method} /all`]),
    ['HEAD /get'],
    ['HEAD /head'],
    ['OPTIONS /get'],
    ['OPTIONS /all'],
    ['POST /get'],
    ['OPTIONS *'],
    ['GET /none'],
  ],
};

export const routes = {
  make() {
    const app = quiet();
    app
      .route('/book')
      .all((_req, res, next) => {
        res.set('X-All', '1');
        next();
      })
      .get((_req, res) => res.send('get'))
      .post((_req, res) => res.status(201).send('post'));
    const first = (req, _res, next) => {
      req.seen = ['first'];
      next();
    };
    const skip = (_req, _res, next) => next('route');
    app.get('/list', [first, (req, _res, next) => next(req.seen.push('second'), undefined)], (_req, res) =>
      res.send('no'),
    );
    app.get('/skip', first, skip, (_req, res) => res.send('not this'));
    app.get('/skip', (_req, res) => res.send('the next route'));
    app.get(/^\/re(g+)$/, (req, res) => res.json(req.params));
    app.get(['/a', '/b'], (req, res) => res.send(req.path));
    app.get('/files/*path', (req, res) => res.json(req.params));
    app.get('/maybe{/:id}', (req, res) => res.json(req.params));
    app.get('/from/:from-:to', (req, res) => res.json(req.params));
    return app;
  },
  requests: [
    ['GET /book'],
    ['POST /book'],
    ['DELETE /book'],
    ['OPTIONS /book'],
    ['GET /list'],
    ['GET /skip'],
    ['GET /reggg'],
    ['GET /a'],
    ['GET /b/'],
    ['GET /A'],
    ['GET /files/one/two%2Fthree/four'],
    ['GET /files//x'],
    ['GET /maybe'],
    ['GET /maybe/1'],
    ['GET /from/x-y'],
    ['GET /maybe/%E0%A4%A'],
    ['GET /maybe/%'],
    ['GET /maybe/%zz?q=%zz'],
    ['GET //book'],
    ['GET /book?x=1#not'],
    ['GET /<script>?q=<b>"'],
    ['GET /maybe/a`b{c}|^\\'],
    ['GET http://example.org/book'],
  ],
};

export const parameters = {
  make() {
    const app = quiet();
    const seen = [];
    app.param('id', (req, _res, next, id, name) => {
      seen.push(id);
      req.found = `${name}=${id}`;
      next(id === 'bad' ? Object.assign(new Error('bad id'), { status: 422 }) : undefined);
    });
    app.get('/user/:id', (_req, _res, next) => next());
    app.get('/user/:id', (req, res) => res.json({ found: req.found, seen: seen.length }));
    return app;
  },
  requests: [['GET /user/1'], ['GET /user/1'], ['GET /user/bad'], ['GET /user/%C3%A9']],
};

export const mounting = {
  make() {
    const app = quiet();
    const admin = quiet();
    const events = [];
    admin.on('mount', (parent) => events.push(parent === app));
    admin.get('/', (req, res) =>
      res.json({ path: admin.path(), mountpath: admin.mountpath, baseUrl: req.baseUrl, url: req.url, events }),
    );
    admin.get('/deep/:x', (req, res) => res.json([req.originalUrl, req.baseUrl, req.url, req.path, req.params]));
    app.use(['/admin', '/manage'], admin);
    const router = express.Router({ mergeParams: true });
    router.get('/:b', (req, res) => res.json({ ...req.params, baseUrl: req.baseUrl }));
    app.use('/with/:a', router);
    app.use('/prefix', (req, res) => res.send(`${req.baseUrl} ${req.url} ${req.originalUrl}`));
    return app;
  },
  requests: [
    ['GET /admin'],
    ['GET /admin/'],
    ['GET /manage/deep/1?a=b'],
    ['GET /with/1/2'],
    ['GET /with/%20/2'],
    ['GET /prefix'],
    ['GET /prefix?x'],
    ['GET /prefix/more//x/?y=1'],
    ['GET /prefixed'],
    ['POST /admin/none', {}, 'x'],
  ],
};

export const routers = {
  make() {
    const app = quiet();
    const strict = express.Router({ strict: true, caseSensitive: true });
    strict.get('/Path', (_req, res) => res.send('strict'));
    const gate = express.Router();
    gate.use((req, _res, next) => next(req.get('x-pass') === undefined ? 'router' : undefined));
    gate.get('/in', (_req, res) => res.send('inside'));
    const params = express.Router();
    params.param('n', (req, _res, next, n) => {
      req.n = Number(n) * 2;
      next();
    });
    params.route('/:n').get((req, res) => res.json(req.n));
    app.use('/strict', strict);
    app.use('/gate', gate, (_req, res) => res.status(403).send('outside'));
    app.use('/params', params);
    return app;
  },
  requests: [
    ['GET /strict/Path'],
    ['GET /strict/path'],
    ['GET /strict/Path/'],
    ['GET /gate/in'],
    ['GET /gate/in', { 'X-Pass': '1' }],
    ['GET /params/21'],
  ],
};

export const settings = {
  make() {
    const app = quiet();
    app.disable('x-powered-by');
    app.enable('strict routing');
    app.enable('case sensitive routing');
    app.set('json spaces', 2);
    app.set('json escape', true);
    app.set('json replacer', (key, value) => (key === 'secret' ? undefined : value));
    app.set('etag', 'strong');
    app.set('query parser', 'extended');
    app.set('subdomain offset', 1);
    app.get('/Json', (_req, res) => res.json({ secret: 1, html: '<b>&', list: [1] }));
    app.get('/settings', (req, res) =>
      res.json([app.enabled('etag'), app.disabled('x-powered-by'), app.get('json spaces'), req.subdomains, req.query]),
    );
    return app;
  },
  requests: [
    ['GET /Json'],
    ['GET /json'],
    ['GET /Json/'],
    ['GET /settings?a[b]=1&a[c][]=2&d=%20+', { Host: 'a.b.example:80' }],
  ],
};

export const etags = {
  make() {
    const app = quiet();
    const none = quiet().set('etag', false);
    const own = quiet().set('etag', (body, encoding) => `"${body.length}-${encoding}"`);
    for (const one of [none, own]) one.get('/', (_req, res) => res.send('tagged'));
    app.use('/none', none);
    app.use('/own', own);
    app.get('/', (_req, res) => res.send('tagged'));
    app.get('/set', (_req, res) => res.set('ETag', '"mine"').send('tagged'));
    return app;
  },
  requests: [
    ['GET /'],
    ['GET /', { 'If-None-Match': 'W/"6-IPlb3aJmb0AvTJOFktkkmSbY4ac"' }],
    ['GET /', { 'If-None-Match': '*' }],
    ['HEAD /', { 'If-None-Match': '*' }],
    ['GET /none'],
    ['GET /own'],
    ['GET /set', { 'If-None-Match': '"mine"' }],
    ['GET /set', { 'If-None-Match': '"mine"', 'Cache-Control': 'no-cache' }],
  ],
};

export const rendering = {
  make() {
    const app = quiet();
    app.engine('txt', (file, options, done) => {
      if (file.endsWith('broken.txt')) return done(new Error('cannot render'));
      done(null, `${options.name} ${options.all} ${options.own} ${Object.keys(options.settings).includes('views')}`);
    });
    app.set('views', views);
    app.set('view engine', 'txt');
    app.locals.all = 'everybody';
    app.get('/', (_req, res) => {
      res.locals.own = 'mine';
      res.render('page', { name: 'you' });
    });
    app.get('/callback', (_req, res) =>
      res.render('page', { name: 'x' }, (error, text) => res.json([String(error), text])),
    );
    app.get('/app', (_req, res) => app.render('page', { name: 'a', own: 'b' }, (_error, text) => res.send(text)));
    app.get('/missing', (_req, res) => res.render('missing'));
    app.get('/broken', (_req, res) => res.render('broken'));
    return app;
  },
  requests: [['GET /'], ['GET /callback'], ['GET /app'], ['GET /missing'], ['GET /broken'], ['HEAD /']],
};

export const errors = {
  make() {
    const app = quiet();
    app.get('/throw', () => {
      throw new Error('thrown');
    });
    app.get('/async', async () => {
      throw new Error('rejected');
    });
    app.get('/next', (_req, _res, next) =>
      next(Object.assign(new Error('teapot'), { status: 418, headers: { 'X-Why': 'tea' } })),
    );
    app.get('/text', (_req, _res, next) => next('a text'));
    app.get('/expose', (_req, _res, next) =>
      next(Object.assign(new Error('shown'), { statusCode: 404, expose: true })),
    );
    app.get('/bad-status', (_req, _res, next) => next(Object.assign(new Error('x'), { status: 99 })));
    app.get('/set-status', (_req, res, next) => {
      res.status(503);
      next(new Error('busy'));
    });
    app.get('/headers', (_req, res) => {
      res.set('X-Before', '1').type('text/x');
      throw new Error('after headers were set');
    });
    const handled = express.Router();
    handled.get('/', () => {
      throw Object.assign(new Error('mine'), { code: 7 });
    });
    handled.use((error, _req, res, _next) => res.status(500).json({ message: error.message, code: error.code }));
    app.use('/handled', handled);
    app.get('/invalid-header', (_req, res) => res.set('X-Bad', 'a\nb').send('never'));
    app.get('/invalid-status', (_req, res) => res.status(1000).send('never'));
    app.get('/twice', (_req, res) => {
      res.send('once');
      res.send('twice');
    });
    return app;
  },
  requests: [
    ['GET /throw'],
    ['HEAD /throw'],
    ['GET /async'],
    ['GET /next'],
    ['GET /text'],
    ['GET /expose'],
    ['GET /bad-status'],
    ['GET /set-status'],
    ['GET /headers'],
    ['GET /handled'],
    ['GET /invalid-header'],
    ['GET /invalid-status'],
    ['POST /throw', {}, 'a body that nobody reads'],
    ['GET /twice'],
  ],
};

/** An app in development: errors have stacks. */
export const stacks = {
  make() {
    const app = express();
    app.get('/deep', () => {
      throw new Error('deep');
    });
    app.use('/shallow', () => {
      throw new Error('shallow');
    });
    app.use('/async', async () => {
      await null;
      throw new Error('late');
    });
    return app;
  },
  requests: [['GET /deep'], ['GET /shallow'], ['GET /async'], ['GET /nowhere']],
};

/** A listener without a framework: its arguments and its `this`. */
export const plain = {
  make() {
    return function listener(...rest) {
      const [req, res] = rest;
      const facts = {
        args: rest.length,
        server: this.constructor.name,
        same: this === req.socket.server,
        listening: typeof this.listen,
        req: req.constructor.name,
        res: res.constructor.name,
        version: [req.httpVersion, req.httpVersionMajor, req.httpVersionMinor],
        sockets: [req.socket === res.socket, req.connection === req.socket, res.connection === req.socket],
        peer: [
          req.socket.remoteAddress,
          req.socket.remoteFamily,
          typeof req.socket.remotePort,
          req.socket.localAddress,
          typeof req.socket.localPort,
          req.socket.encrypted,
        ],
        states: [req.complete, req.aborted, req.destroyed, req.readable, res.writable, res.finished, res.headersSent],
        socket: [req.socket.readable, req.socket.writable, req.socket.destroyed, req.socket.readyState],
        marks: [res.writableHighWaterMark, res.writableLength, req.readableHighWaterMark, res.sendDate],
        more: [req.upgrade, req.statusCode, req.trailers, req.rawTrailers, res.statusCode, String(res.statusMessage)],
        keeps: [res.shouldKeepAlive, res.chunkedEncoding, res.useChunkedEncodingByDefault],
      };
      res.setHeader('Content-Type', 'application/json');
      res.end(JSON.stringify(facts));
    };
  },
  requests: [['GET /'], ['POST /', {}, 'body'], ['HEAD /'], ['GET /', { Connection: 'close' }]],
};

export const locals = {
  make() {
    const app = quiet();
    app.locals.title = 'all';
    app.use((req, res, next) => {
      res.locals.own = req.get('x-own') ?? 'none';
      next();
    });
    app.get('/', (req, res) =>
      res.json({ all: app.locals.title, own: res.locals.own, settings: typeof req.app.locals.settings }),
    );
    return app;
  },
  requests: [['GET /', { 'X-Own': 'mine' }], ['GET /']],
};

/** Listeners that answer later, or while other listeners answer. */
export const asynchronous = {
  make() {
    const app = quiet();
    const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    app.use(async (_req, res, next) => {
      await wait(1);
      res.set('X-Waited', '1');
      next();
    });
    app.get('/later', async (_req, res) => {
      await wait(10);
      res.send('later');
    });
    app.get('/immediate', (_req, res) => setImmediate(() => res.send('immediate')));
    app.get('/microtask', (_req, res) => queueMicrotask(() => res.send('microtask')));
    app.get(
      '/chain',
      (_req, _res, next) => process.nextTick(next),
      async (_req, _res, next) => next(),
      (_req, res) => res.send('chained'),
    );
    app.get('/rejects', async () => {
      await wait(1);
      throw Object.assign(new Error('late'), { status: 409, expose: true });
    });
    return app;
  },
  requests: [['GET /later'], ['GET /immediate'], ['GET /microtask'], ['GET /chain'], ['GET /rejects'], ['HEAD /later']],
};
