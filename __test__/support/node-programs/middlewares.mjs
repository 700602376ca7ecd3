// Programs for npm's common middlewares of Express apps.
import { createServer } from 'node:http';

import compression from 'compression';
import cookieParser from 'cookie-parser';
import cors from 'cors';
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import session from 'express-session';
import helmet from 'helmet';
import { createProxyMiddleware } from 'http-proxy-middleware';
import morgan from 'morgan';
import multer from 'multer';
import passport from 'passport';
import swaggerUi from 'swagger-ui-express';

function quiet() {
  const app = express();
  app.set('env', 'production');
  return app;
}

export const corsAnswers = {
  make() {
    const app = quiet();
    const own = {
      origin: ['http://a.example', /b\.example$/],
      credentials: true,
      exposedHeaders: ['X-A'],
      maxAge: 60,
      methods: 'GET',
    };
    app.use('/open', cors());
    app.use('/own', cors(own));
    app.use(
      '/late',
      cors((req, done) => done(null, { origin: req.get('x-allow') ?? false, preflightContinue: true })),
    );
    app.all('/*any', (req, res) => res.send(req.method));
    return app;
  },
  requests: ['open', 'own', 'late'].flatMap((where) => [
    [`GET /${where}`, { Origin: 'http://a.example' }],
    [
      `OPTIONS /${where}`,
      { Origin: 'http://b.example', 'Access-Control-Request-Method': 'PUT', 'Access-Control-Request-Headers': 'X-B' },
    ],
    [`GET /${where}`, { Origin: 'http://c.example', 'X-Allow': '*' }],
    [`GET /${where}`],
  ]),
};

export const helmetHeaders = {
  make() {
    const app = quiet();
    app.use('/default', helmet());
    app.use(
      '/own',
      helmet({
        contentSecurityPolicy: { directives: { scriptSrc: ["'self'", (_req, res) => `'nonce-${res.locals.n}'`] } },
        hsts: false,
      }),
    );
    app.get('/*any', (_req, res) => res.send('safe'));
    return app;
  },
  requests: [['GET /default'], ['GET /own'], ['HEAD /default'], ['POST /default']],
};

export const morganLines = {
  make() {
    const app = quiet();
    const lines = [];
    const format =
      ':method :url :status :res[content-length] :http-version :remote-addr :referrer :user-agent :req[x-a]';
    const keep = { stream: { write: (line) => lines.push(line.trim()) } };
    app.use(morgan(format, { ...keep, skip: (req) => req.path === '/lines' }));
    app.use(
      morgan((tokens, req, res) => `early ${tokens.method(req, res)} ${tokens.status(req, res) ?? '-'}`, {
        ...keep,
        immediate: true,
        skip: (req) => req.path === '/lines',
      }),
    );
    app.get('/lines', (_req, res) => res.json(lines.splice(0)));
    app.get('/hello', (_req, res) => res.send('hello'));
    app.get('/late', (_req, res) => setTimeout(() => res.status(202).end('late'), 10));
    return app;
  },
  requests: [
    ['GET /hello?x=1', { Referer: 'r', 'User-Agent': 'test', 'X-A': 'b' }],
    ['GET /lines'],
    ['GET /late'],
    ['HEAD /hello'],
    ['GET /none'],
    ['GET /lines'],
  ],
};

export const compressed = {
  make() {
    const app = quiet();
    app.use(compression({ threshold: 100 }));
    app.get('/large', (_req, res) => res.send('compress me '.repeat(200)));
    app.get('/small', (_req, res) => res.send('small'));
    app.get('/png', (_req, res) => res.type('png').send(Buffer.alloc(500)));
    app.get('/no-transform', (_req, res) => res.set('Cache-Control', 'no-transform').send('x'.repeat(500)));
    app.get('/flush', (_req, res) => {
      res.type('txt').write('first '.repeat(30));
      res.flush();
      setTimeout(() => res.end('second'), 20);
    });
    return app;
  },
  requests: ['large', 'small', 'png', 'no-transform', 'flush'].flatMap((name) => [
    [`GET /${name}`, { 'Accept-Encoding': 'gzip' }],
    [`HEAD /${name}`, { 'Accept-Encoding': 'br, gzip' }],
    [`GET /${name}`],
  ]),
};

export const parsedCookies = {
  make() {
    const app = quiet();
    app.use(cookieParser(['secret', 'old']));
    app.get('/', (req, res) => res.json([req.cookies, req.signedCookies, req.secret]));
    app.get('/set', (_req, res) => res.cookie('who', 'me', { signed: true }).cookie('json', { a: 1 }).send('set'));
    return app;
  },
  requests: [
    ['GET /', { Cookie: 'a=1; b=%20x; j=j%3A%7B%22a%22%3A1%7D; bad=%zz' }],
    ['GET /set'],
    ['GET /', { Cookie: 'who=s%3Ame.wBU5pD9OLWCRtmuoAhn%2BCoB5Cn5hIqsBX8XcMzU' }],
    ['GET /'],
  ],
};

export const sessions = {
  make() {
    const app = quiet();
    let serial = 0;
    app.use(
      session({
        secret: 's',
        resave: false,
        saveUninitialized: false,
        genid: () => `id-${++serial}`,
        cookie: { maxAge: null },
      }),
    );
    app.get('/count', (req, res) => {
      req.session.count = (req.session.count ?? 0) + 1;
      res.json([req.session.count, req.sessionID]);
    });
    app.get('/look', (req, res) => res.json([req.session.count ?? null]));
    app.get('/leave', (req, res) => req.session.destroy(() => res.send('left')));
    app.get('/renew', (req, res) => req.session.regenerate(() => res.json(req.sessionID)));
    return app;
  },
  keepsCookies: true,
  requests: [
    ['GET /look'],
    ['GET /count'],
    ['GET /count'],
    ['GET /renew'],
    ['GET /count'],
    ['GET /leave'],
    ['GET /look'],
  ],
};

const BOUNDARY = 'xBOUNDARYx';
const form = (...parts) =>
  `${parts.map(([head, body]) => `--${BOUNDARY}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`).join('')}--${BOUNDARY}--\r\n`;
const FORM = { 'Content-Type': `multipart/form-data; boundary=${BOUNDARY}` };

export const uploads = {
  make() {
    const app = quiet();
    const upload = multer({ limits: { fileSize: 1000, files: 2 } });
    const show = (req, res) => {
      const files = [
        req.file,
        ...(Array.isArray(req.files) ? req.files : Object.values(req.files ?? {}).flat()),
      ].filter(Boolean);
      res.json({
        body: req.body,
        files: files.map(({ fieldname, originalname, size, buffer }) => [
          fieldname,
          originalname,
          size,
          String(buffer).slice(0, 20),
        ]),
      });
    };
    app.post('/single', upload.single('file'), show);
    app.post('/array', upload.array('file'), show);
    app.post('/fields', upload.fields([{ name: 'a' }, { name: 'b', maxCount: 1 }]), show);
    app.post('/none', upload.none(), show);
    app.use((error, _req, res, _next) => res.status(400).json([error.code, error.message, error.field]));
    return app;
  },
  requests: [
    ['POST /single', FORM, form(['name="text"', 'x'], ['name="file"; filename="ü.txt"', 'content'])],
    ['POST /single', FORM, form(['name="other"; filename="a"', 'content'])],
    ['POST /single', FORM, form(['name="file"; filename="a"', 'y'.repeat(2000)])],
    ['POST /array', FORM, form(['name="file"; filename="a"', '1'], ['name="file"; filename="b"', '2'])],
    ['POST /fields', FORM, form(['name="a"; filename="a"', '1'], ['name="b"; filename="b"', '2'])],
    ['POST /none', FORM, form(['name="list[]"', '1'], ['name="list[]"', '2'])],
    ['POST /single', { ...FORM, 'Transfer-Encoding': 'chunked' }, form(['name="file"; filename="c"', 'in chunks'])],
    ['POST /single', FORM, `--${BOUNDARY}\r\nContent-Disposition: form-data; name="x"\r\n\r\ncut`],
    ['POST /single', { 'Content-Type': 'multipart/form-data' }, 'x'],
  ],
};

export const passports = {
  make() {
    const app = quiet();
    const authenticator = new passport.Authenticator();
    class Header extends passport.Strategy {
      name = 'header';
      authenticate(req) {
        const user = req.get('x-user');
        if (user === undefined) return this.fail('Header realm="x"', 401);
        if (user === 'away') return this.redirect('/elsewhere');
        if (user === 'error') return this.error(new Error('broken'));
        return this.success({ name: user });
      }
    }
    authenticator.use(new Header());
    app.use(authenticator.initialize());
    app.get('/me', authenticator.authenticate('header', { session: false }), (req, res) =>
      res.json([req.user, req.isAuthenticated()]),
    );
    return app;
  },
  requests: [['GET /me'], ...['me', 'away', 'error'].map((user) => ['GET /me', { 'X-User': user }])],
};

export const limited = {
  make() {
    const app = quiet();
    app.set('trust proxy', 1);
    app.use(
      rateLimit({ windowMs: 3_600_000, limit: 2, standardHeaders: 'draft-6', legacyHeaders: true, validate: false }),
    );
    app.get('/', (req, res) => res.json([req.rateLimit.limit, req.rateLimit.used]));
    return app;
  },
  hides: ['ratelimit-reset', 'x-ratelimit-reset', 'retry-after'],
  requests: [['GET /'], ['GET /'], ['GET /'], ['GET /', { 'X-Forwarded-For': '9.9.9.9' }]],
};

/** A proxy in front of a server of this process. */
export const proxied = {
  async make() {
    const inner = createServer((req, res) => {
      const { host, connection, 'x-forwarded-host': _host, 'x-forwarded-port': _port, ...headers } = req.headers;
      const pieces = [];
      req.on('data', (piece) => pieces.push(piece));
      req.on('end', () => {
        res.writeHead(req.url.includes('teapot') ? 418 : 200, 'From Inside', {
          'X-Inner': ['1', '2'],
          'Content-Type': 'application/json',
        });
        if (req.url.includes('chunks')) res.write('[in chunks]');
        res.end(JSON.stringify([req.method, req.url, headers, Buffer.concat(pieces).toString()]));
      });
    });
    await new Promise((resolve) => inner.listen(0, '127.0.0.1', resolve));
    inner.unref();
    const target = `http://127.0.0.1:${inner.address().port}`;
    const app = quiet();
    app.use('/api', createProxyMiddleware({ target, changeOrigin: true, pathRewrite: { '^/v1': '/v2' } }));
    app.use('/forward', createProxyMiddleware({ target, xfwd: true }));
    app.use('/dead', createProxyMiddleware({ target: 'http://127.0.0.1:1', logger: undefined }));
    return app;
  },
  requests: [
    ['GET /api/v1/x?y=%20z', { 'X-A': 'b' }],
    ['POST /api/echo', { 'Content-Type': 'text/plain' }, 'through the proxy'],
    ['POST /api/echo', { 'Transfer-Encoding': 'chunked' }, 'in chunks'],
    ['GET /api/chunks'],
    ['GET /api/teapot'],
    ['HEAD /api/x'],
    ['DELETE /api/x'],
    ['GET /forward/x'],
    ['GET /dead/x'],
  ],
};

export const swagger = {
  make() {
    const app = quiet();
    const document = { openapi: '3.0.0', info: { title: 'Pages', version: '1' }, paths: {} };
    app.use('/docs', swaggerUi.serve, swaggerUi.setup(document, { customSiteTitle: 'Own title' }));
    return app;
  },
  requests: [
    ['GET /docs'],
    ['GET /docs/'],
    ['GET /docs/swagger-ui-init.js'],
    ['GET /docs/swagger-ui.css'],
    ['GET /docs/swagger-ui-bundle.js', { Range: 'bytes=0-99' }],
    ['GET /docs/none'],
  ],
};
