// Programs for the members of Express 5's responses.
import { mkdirSync, mkdtempSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import express from 'express';
import express4 from 'express4';

function quiet(make = express) {
  const app = make();
  app.set('env', 'production');
  return app;
}

const folder = mkdtempSync(path.join(tmpdir(), 'millrace-files-'));
const LARGE = Buffer.alloc(400_000, 'The quick brown fox. ');
for (const [name, content] of Object.entries({
  'index.html': '<h1>Index</h1>',
  'text.txt': '0123456789',
  'large.bin': LARGE,
  'page.html': '<p>page</p>',
  'ü ml.json': '{}',
  '.hidden': 'hidden',
  'empty.css': '',
})) {
  writeFileSync(path.join(folder, name), content);
  utimesSync(path.join(folder, name), 1_700_000_000, 1_700_000_000);
}
mkdirSync(path.join(folder, 'sub'));
writeFileSync(path.join(folder, 'sub', 'index.html'), 'sub index');
utimesSync(path.join(folder, 'sub', 'index.html'), 1_700_000_000, 1_700_000_000);

export const fields = {
  make() {
    const app = quiet();
    app.get('/set', (_req, res) => {
      res.set('X-One', '1').set({ 'x-two': '2', 'X-Three': 3 }).header('Content-Type', 'text/x');
      res.append('Link', '<a>').append('link', '<b>').append('Warning', ['1', '2']);
      res.set('X-List', ['a', 'b']).vary('Accept').vary('accept').vary(['Origin', 'User-Agent']);
      res.json([res.get('x-one'), res.getHeaderNames(), res.hasHeader('LINK'), res.getHeaders()]);
    });
    app.get('/type', (req, res) => res.type(req.query.t).send(Buffer.from('typed')));
    app.get('/links', (_req, res) => {
      res.links({ next: 'http://x/2', last: ['http://x/5', 'http://x/6'] });
      res.location('/a b?c=é').status(201).end();
    });
    app.get('/status/:code', (req, res) => res.sendStatus(Number(req.params.code)));
    app.get('/message', (_req, res) => {
      res.statusMessage = 'Quite Fine';
      res.status(299).send('x');
    });
    app.get('/latin', (_req, res) => res.set('X-Latin', 'é\u00ff').send('ü'));
    app.get('/latin-end', (_req, res) => {
      res.setHeader('X-Latin', 'é');
      res.end('ü');
    });
    app.get('/attachment', (req, res) => res.attachment(req.query.name).send('attached'));
    return app;
  },
  requests: [
    ['GET /set'],
    ...['html', 'json', '.png', 'application/x-own', 'nonsense', 'text/plain; charset=latin1'].map((type) => [
      `GET /type?t=${encodeURIComponent(type)}`,
    ]),
    ['GET /links'],
    ...[200, 201, 204, 205, 304, 404, 418, 451, 500, 599, 799].map((code) => [`GET /status/${code}`]),
    ['HEAD /status/404'],
    ['GET /message'],
    ['GET /latin'],
    ['GET /latin-end'],
    ['GET /attachment'],
    ['GET /attachment?name=a%22b%20%E2%82%AC.txt'],
  ],
};

export const cookies = {
  make() {
    const app = quiet();
    app.get('/', (_req, res) => {
      res
        .cookie('plain', 'a b;é')
        .cookie('object', { a: 1 })
        .cookie('own', 'x y', { encode: (text) => text.replace(' ', '_').toUpperCase() });
      res.cookie('options', '1', {
        domain: '.x.y',
        path: '/p',
        secure: true,
        httpOnly: true,
        sameSite: 'strict',
        priority: 'high',
      });
      res.cookie('ages', '2', { expires: new Date(0), partitioned: true }).clearCookie('gone', { path: '/x' });
      res.send('cookies');
    });
    app.get('/bad', (_req, res) => res.cookie('a', 'b', { sameSite: 'odd' }).send('no'));
    app.get('/signed', (_req, res) => res.cookie('a', 'b', { signed: true }).send('no'));
    return app;
  },
  requests: [['GET /'], ['HEAD /'], ['GET /bad'], ['GET /signed']],
};

export const sending = {
  make() {
    const app = quiet();
    const values = {
      text: 'héllo',
      empty: '',
      buffer: Buffer.from([1, 2, 255]),
      bytes: new Uint8Array([3, 4]),
      object: { a: 1 },
      list: [1, 'x'],
      null: null,
      true: true,
      number: 7,
      undefined: undefined,
    };
    app.all('/send/:what', (req, res) => void res.send(values[req.params.what]));
    app.all('/json/:what', (req, res) => void res.json(values[req.params.what]));
    app.get('/jsonp', (_req, res) => void res.jsonp({ a: '\u2028</script>' }));
    app.get('/html-as-text', (_req, res) => void res.type('txt').send('<b>'));
    app.get('/204', (_req, res) => void res.status(204).send('a body that is left out'));
    app.get('/205', (_req, res) => void res.status(205).send('a body that is left out'));
    app.get('/304', (_req, res) => void res.status(304).send('a body that is left out'));
    app.get('/length', (_req, res) => void res.set('Content-Length', '5').send('other length'));
    app.get('/format', (_req, res) =>
      res.format({ text: () => res.send('text'), html: () => res.send('<i>'), json: () => res.send({ json: 1 }) }),
    );
    app.get('/format-default', (_req, res) =>
      res.format({ json: () => res.send({}), default: () => res.send('default') }),
    );
    return app;
  },
  requests: [
    ...['text', 'empty', 'buffer', 'bytes', 'object', 'list', 'null', 'true', 'number', 'undefined'].flatMap((what) => [
      [`GET /send/${what}`],
      [`HEAD /send/${what}`],
      [`GET /json/${what}`],
    ]),
    ['GET /jsonp?callback=cb[0]'],
    ['GET /jsonp?callback=a&callback=b'],
    ['GET /jsonp'],
    ['GET /html-as-text'],
    ['GET /204'],
    ['GET /205'],
    ['GET /304'],
    ['GET /length'],
    ['GET /format', { Accept: 'application/json' }],
    ['GET /format', { Accept: 'text/html;q=0.5, text/plain;q=0.4' }],
    ['GET /format', { Accept: 'image/png' }],
    ['GET /format-default', { Accept: 'image/png' }],
  ],
};

export const redirects = {
  make() {
    const app = quiet();
    app.all('/to', (req, res) => res.redirect(req.query.url));
    app.get('/status', (_req, res) => res.redirect(307, '../x?é=1'));
    app.get('/referrer', (req, res) => res.redirect(req.get('Referrer') || '/'));
    return app;
  },
  requests: [
    ['GET /to?url=/a'],
    ['HEAD /to?url=/a'],
    ['POST /to?url=http://x.y/%3Ca%3E', { Accept: 'text/html' }],
    ['GET /to?url=/%22%3Cb%3E', { Accept: 'text/html' }],
    ['GET /to?url=//x', { Accept: 'image/png' }],
    ['GET /status'],
    ['GET /referrer', { Referer: 'http://before/' }],
    ['GET /referrer'],
  ],
};

export const files = {
  make() {
    const app = quiet();
    const root = folder;
    app.get('/file/*name', (req, res) =>
      res.sendFile(req.params.name.join('/'), { root, maxAge: 1000, lastModified: true }),
    );
    app.get('/absolute', (_req, res) => res.sendFile(path.join(folder, 'text.txt'), { headers: { 'X-Own': '1' } }));
    app.get('/relative', (_req, res) => res.sendFile('text.txt'));
    app.get('/download', (_req, res) => res.download(path.join(folder, 'text.txt'), 'ü name.txt'));
    app.get('/callback', (req, res) => {
      res.sendFile('none.txt', { root }, (error) => res.status(error.status).json([error.code, res.headersSent]));
    });
    app.get('/plain', (_req, res) =>
      res.sendFile('text.txt', { root, etag: false, acceptRanges: false, cacheControl: false }),
    );
    app.get('/dots', (_req, res) => res.sendFile('.hidden', { root, dotfiles: 'allow' }));
    return app;
  },
  requests: [
    ['GET /file/text.txt'],
    ['HEAD /file/text.txt'],
    ['GET /file/large.bin'],
    ['GET /file/%C3%BC%20ml.json'],
    ['GET /file/none'],
    ['GET /file/..%2Fx'],
    ['GET /file/.hidden'],
    ['GET /file/sub'],
    ['GET /file/empty.css'],
    ...['bytes=0-3', 'bytes=-3', 'bytes=5-', 'bytes=9-2', 'bytes=0-1,4-5', 'bytes=20-', 'chars=1-2'].map((range) => [
      'GET /file/text.txt',
      { Range: range },
    ]),
    ['GET /file/large.bin', { Range: 'bytes=100000-299999' }],
    ['GET /file/text.txt', { 'If-Modified-Since': new Date(1_700_000_000_000).toUTCString() }],
    ['GET /file/text.txt', { 'If-Modified-Since': new Date(1_600_000_000_000).toUTCString() }],
    ['GET /file/text.txt', { 'If-Unmodified-Since': new Date(1_600_000_000_000).toUTCString() }],
    ['GET /file/text.txt', { 'If-Match': '"other"' }],
    ['GET /file/text.txt', { 'If-Range': '"other"', Range: 'bytes=0-1' }],
    ['GET /absolute'],
    ['GET /relative'],
    ['GET /download'],
    ['GET /callback'],
    ['GET /plain'],
    ['GET /plain', { Range: 'bytes=0-1' }],
    ['GET /dots'],
  ],
};

export const statics = {
  make() {
    const app = quiet();
    app.use('/default', express.static(folder));
    app.use(
      '/own',
      express.static(folder, {
        index: 'page.html',
        extensions: ['html'],
        maxAge: '1d',
        immutable: true,
        redirect: false,
      }),
    );
    app.use(
      '/strict',
      express.static(folder, { fallthrough: false, dotfiles: 'deny', etag: false, lastModified: false }),
    );
    app.use('/headers', express.static(folder, { setHeaders: (res, file) => res.set('X-File', path.basename(file)) }));
    app.use((req, res) => res.status(404).send(`not ${req.url}`));
    return app;
  },
  requests: [
    ['GET /default/'],
    ['GET /default'],
    ['GET /default/sub'],
    ['GET /default/sub/'],
    ['GET /default/text.txt', { Range: 'bytes=2-4' }],
    ['HEAD /default/large.bin'],
    ['GET /default/large.bin'],
    ['POST /default/text.txt', {}, 'x'],
    ['GET /default/.hidden'],
    ['GET /default/%2e%2e/x'],
    ['GET /default/%'],
    ['GET /default/a%00b'],
    ['GET /own/'],
    ['GET /own/page'],
    ['GET /own/sub'],
    ['GET /strict/none'],
    ['GET /strict/.hidden'],
    ['GET /strict/text.txt'],
    ['POST /strict/text.txt'],
    ['GET /headers/text.txt'],
  ],
};

/** The same small app on Express 4. */
export const express4App = {
  make() {
    const app = quiet(express4);
    app.use(express4.json());
    app.get('/', (req, res) => res.json({ ip: req.ip, query: req.query }));
    app.post('/', (req, res) => res.send(req.body));
    app.get('/user/:id(\\d+)', (req, res) => res.send(req.params.id));
    app.del?.('/', (_req, res) => res.sendStatus(204));
    app.get('/send', (_req, res) => res.send(404, 'old form'));
    app.get('/redirect', (_req, res) => res.redirect('back'));
    app.get('/throw', () => {
      throw new Error('four');
    });
    app.use('/static', express4.static(folder));
    return app;
  },
  requests: [
    ['GET /?a[b]=c'],
    ['POST /', { 'Content-Type': 'application/json' }, '{"a":1}'],
    ['POST /', { 'Content-Type': 'application/json' }, '{'],
    ['GET /user/12'],
    ['GET /user/x'],
    ['GET /user/%'],
    ['GET /send'],
    ['GET /redirect'],
    ['GET /throw'],
    ['GET /static/text.txt', { Range: 'bytes=0-1' }],
    ['GET /none'],
  ],
};
