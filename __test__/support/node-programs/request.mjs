// Programs for the members of Express 5's requests: the address, the headers, the query, the body.
import { createHash } from 'node:crypto';
import zlib from 'node:zlib';

import express from 'express';

function quiet() {
  const app = express();
  app.set('env', 'production');
  return app;
}

export const addresses = {
  make() {
    const app = quiet();
    const facts = (req, res) =>
      res.json({
        ip: req.ip,
        ips: req.ips,
        host: req.host,
        hostname: req.hostname,
        protocol: req.protocol,
        secure: req.secure,
        subdomains: req.subdomains,
        xhr: req.xhr,
        url: [req.url, req.originalUrl, req.baseUrl, req.path],
        route: req.route?.path,
        method: req.method,
        same: req.app === res.app && req.res === res && res.req === req,
      });
    for (const [name, trust] of Object.entries({
      none: false,
      all: true,
      one: 1,
      loop: 'loopback',
      list: '10.0.0.0/8, loopback',
    })) {
      const trusting = quiet().set('trust proxy', trust);
      trusting.get('/', facts);
      app.use(`/${name}`, trusting);
    }
    return app;
  },
  requests: ['none', 'all', 'one', 'loop', 'list'].flatMap((name) => [
    [`GET /${name}/?a=b`, { Host: 'a.b.example.org:8080' }],
    [
      `GET /${name}`,
      {
        Host: 'inner',
        'X-Forwarded-For': '1.2.3.4, 10.0.0.1',
        'X-Forwarded-Proto': 'https, http',
        'X-Forwarded-Host': 'outer.example:443, x',
        'X-Requested-With': 'XMLHttpRequest',
      },
    ],
  ]),
};

export const headers = {
  make() {
    const app = quiet();
    app.all('/', (req, res) => res.json({ headers: req.headers, raw: req.rawHeaders, distinct: req.headersDistinct }));
    app.get('/get', (req, res) =>
      res.json([
        req.get('X-One'),
        req.header('x-one'),
        req.get('referrer'),
        req.get('referer'),
        String(req.get('none')),
      ]),
    );
    app.get('/bad', (req, res) => res.json(req.get()));
    return app;
  },
  requests: [
    ['GET /', ['Host', 'a', 'X-One', 'a', 'x-one', 'b', 'X-ONE', 'c']],
    ['GET /', ['Host', 'a', 'Cookie', 'a=1', 'cookie', 'b=2', 'Set-Cookie', 'x', 'Set-Cookie', 'y']],
    ['GET /', ['Host', 'a', 'Content-Type', 'a/b', 'Content-Type', 'c/d', 'User-Agent', 'x', 'User-Agent', 'y']],
    [
      'GET /',
      [
        'Host',
        'a',
        'Accept',
        'a',
        'Accept',
        'b',
        'Authorization',
        'x',
        'Authorization',
        'y',
        'ETag',
        'a',
        'Age',
        '1',
        'Age',
        '2',
      ],
    ],
    [
      'GET /',
      ['Host', 'a', 'X-Empty', '', '__proto__', 'x', 'constructor', 'y', 'X-Latin', 'é\u00ff', 'X-Spaces', '  a  b  '],
    ],
    ['POST /', ['Host', 'a', 'Transfer-Encoding', 'chunked'], 'x'],
    ['GET /get', { 'X-One': '1', Referer: 'r' }],
    ['GET /bad'],
  ],
};

export const queries = {
  make() {
    const app = quiet();
    const parsers = { simple: 'simple', extended: 'extended', off: false, own: (text) => ({ text: String(text) }) };
    for (const [name, parser] of Object.entries(parsers)) {
      const one = quiet().set('query parser', parser);
      one.get('/', (req, res) => res.json(req.query));
      app.use(`/${name}`, one);
    }
    return app;
  },
  requests: ['simple', 'extended', 'off', 'own'].flatMap((name) =>
    [
      '',
      '?',
      '?a=1&a=2&b',
      '?a[b]=c&d[]=e',
      '?x=%E4%BD%A0&y=%zz&z=a+b',
      '?__proto__[a]=1&=x',
      '?a=b?c=d',
      '?a={"x":1}|^`',
    ].map((query) => [`GET /${name}${query}`]),
  ),
};

export const negotiation = {
  make() {
    const app = quiet();
    app.all('/', (req, res) =>
      res.json({
        accepts: [req.accepts('html', 'json'), req.accepts('image/png'), req.accepts()],
        charsets: [req.acceptsCharsets('utf-8'), req.acceptsCharsets()],
        encodings: [req.acceptsEncodings('gzip', 'br'), req.acceptsEncodings()],
        languages: [req.acceptsLanguages('en', 'de'), req.acceptsLanguages()],
        is: [req.is('json'), req.is('text/*'), req.is(['html', 'urlencoded'])],
        range: req.range(100) ?? null,
        combined: req.range(100, { combine: true }) ?? null,
        fresh: [req.fresh, req.stale],
      }),
    );
    return app;
  },
  requests: [
    ['GET /'],
    ['GET /', { Accept: 'text/html;q=0.8, application/json', 'Accept-Charset': 'utf-8, x;q=0.1' }],
    ['GET /', { 'Accept-Encoding': 'br;q=0.1, gzip', 'Accept-Language': 'de-AT, en;q=0.5' }],
    ['GET /', { Range: 'bytes=0-10,5-20,90-' }],
    ['GET /', { Range: 'bytes=200-' }],
    ['GET /', { Range: 'lines 1' }],
    ['POST /', { 'Content-Type': 'application/json; charset=x' }, '{}'],
    ['POST /', { 'Content-Type': 'text/plain' }, 'x'],
    ['POST /', { 'Content-Type': 'nonsense' }, 'x'],
    ['POST /', {}, ''],
  ],
};

export const jsonBodies = {
  make() {
    const app = quiet();
    const show = (req, res) => res.json({ body: req.body ?? null, missing: req.body === undefined });
    const fail = (error, _req, res, _next) =>
      res.status(error.status ?? 500).json([error.type, error.message, error.expose]);
    app.post('/json', express.json(), show);
    app.post('/small', express.json({ limit: 10 }), show);
    app.post('/loose', express.json({ strict: false, type: '*/*' }), show);
    app.post('/plain', express.json({ inflate: false }), show);
    app.post('/reviver', express.json({ reviver: (key, value) => (key === 'x' ? undefined : value) }), show);
    const verify = (_req, _res, bytes, encoding) => {
      if (bytes[0] === 0x5b) throw new Error(`no lists in ${encoding}`);
    };
    app.post('/verify', express.json({ verify }), show);
    app.use(fail);
    return app;
  },
  requests: [
    ...[
      ['/json', '{"a":[1,"é"]}'],
      ['/json', ''],
      ['/json', '{"a":'],
      ['/json', '"text"'],
      ['/json', 'null'],
      ['/small', '{"a":"12345678901"}'],
      ['/reviver', '{"x":1,"y":2}'],
      ['/verify', '[1]'],
      ['/verify', '{"a":1}'],
    ].map(([where, body]) => [`POST ${where}`, { 'Content-Type': 'application/json' }, body]),
    ['POST /loose', { 'Content-Type': 'x/y' }, '"text"'],
    ['POST /json', { 'Content-Type': 'text/plain' }, '{"a":1}'],
    ['POST /json', { 'Content-Type': 'application/json; charset=utf-16le' }, Buffer.from('{"a":"ü"}', 'utf16le')],
    ['POST /json', { 'Content-Type': 'application/json; charset=x-unknown' }, '{}'],
    ['POST /json', { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' }, zlib.gzipSync('{"zip":true}')],
    [
      'POST /json',
      { 'Content-Type': 'application/json', 'Content-Encoding': 'br' },
      zlib.brotliCompressSync('{"br":1}'),
    ],
    ['POST /json', { 'Content-Type': 'application/json', 'Content-Encoding': 'deflate' }, zlib.deflateSync('{"d":1}')],
    ['POST /json', { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' }, 'not gzip'],
    ['POST /json', { 'Content-Type': 'application/json', 'Content-Encoding': 'x-odd' }, '{}'],
    ['POST /plain', { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' }, zlib.gzipSync('{}')],
    ['POST /json', { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' }, '{"chunked":1}'],
    ['POST /json', { 'Content-Type': 'application/json', Expect: '100-continue' }, '{"expects":1}'],
  ],
};

export const formBodies = {
  make() {
    const app = quiet();
    const show = (req, res) => res.json(req.body ?? 'none');
    app.post('/simple', express.urlencoded({ extended: false }), show);
    app.post('/extended', express.urlencoded({ extended: true, parameterLimit: 5, depth: 2 }), show);
    app.post('/text', express.text({ type: 'text/*' }), (req, res) => res.send(`text: ${req.body}`));
    app.post('/raw', express.raw({ type: () => true, limit: '1kb' }), (req, res) => res.send(req.body));
    return app;
  },
  requests: [
    ...['/simple', '/extended'].flatMap((where) =>
      ['a=1&b=2&b=3', 'a[b][c]=1&d[]=2', 'a=%zz&b=%C3%A9+x', '', 'a=1&b=2&c=3&d=4&e=5&f=6', 'a[b][c][d][e]=1'].map(
        (body) => [`POST ${where}`, { 'Content-Type': 'application/x-www-form-urlencoded' }, body],
      ),
    ),
    ['POST /text', { 'Content-Type': 'text/plain; charset=iso-8859-1' }, Buffer.from('h\u00e9', 'latin1')],
    ['POST /text', { 'Content-Type': 'application/x' }, 'x'],
    ['POST /raw', { 'Content-Type': 'a/b' }, Buffer.from([0, 255, 10, 13])],
    ['POST /raw', {}, Buffer.alloc(2000)],
  ],
};

/** Bodies read by the handler: with events, iteration or a pipe; and bodies that are not read. */
export const readBodies = {
  make() {
    const app = quiet();
    app.post('/events', (req, res) => {
      const hash = createHash('sha1');
      let length = 0;
      req.on('data', (piece) => {
        length += piece.length;
        hash.update(piece);
      });
      req.on('end', () => res.json([length, hash.digest('hex'), req.complete, req.readableEnded]));
    });
    app.post('/iterate', async (req, res) => {
      const pieces = [];
      for await (const piece of req) pieces.push(piece);
      res.json([Buffer.concat(pieces).length, req.destroyed]);
    });
    app.post('/pipe', (req, res) => void req.pipe(res.type('bin')));
    app.post('/text', (req, res) => {
      req.setEncoding('utf8');
      let text = '';
      req.on('data', (piece) => {
        text += piece;
      });
      req.on('end', () => res.json(text));
    });
    app.post('/paused', (req, res) => {
      req.pause();
      setTimeout(() => {
        let length = 0;
        req.on('data', (piece) => {
          length += piece.length;
        });
        req.on('end', () => res.json(length));
        req.resume();
      }, 30);
    });
    app.post('/ignored', (_req, res) => res.send('not read'));
    app.post('/early', (req, res) => {
      res.status(413).send('too much');
      req.resume();
    });
    app.post('/trailers', (req, res) => {
      req.resume();
      req.on('end', () =>
        res.json([req.trailers, req.rawTrailers.map((one) => one.toLowerCase()), req.headers.trailer]),
      );
    });
    return app;
  },
  requests: [
    ...['/events', '/iterate', '/pipe', '/text', '/paused'].flatMap((where) => [
      [`POST ${where}`, {}, 'a short é body'],
      [`POST ${where}`, { 'Transfer-Encoding': 'chunked' }, 'a short é body'],
      [`POST ${where}`, {}, ''],
    ]),
    ...['/events', '/iterate', '/pipe', '/paused'].flatMap((where) => [
      [`POST ${where}`, {}, Buffer.alloc(700_000, 'large ')],
      [`POST ${where}`, { 'Transfer-Encoding': 'chunked' }, Buffer.alloc(300_000, 'large ')],
    ]),
    ['POST /ignored', {}, 'short'],
    ['POST /early', {}, 'short'],
    [
      'POST /trailers',
      { 'Transfer-Encoding': 'chunked', Trailer: 'X-Sum' },
      'body',
      { 'X-Sum': '1', 'X-Other': 'two' },
    ],
    ['GET /events', {}, 'a body of GET'],
    ['DELETE /ignored', {}, 'a body of DELETE'],
  ],
};
