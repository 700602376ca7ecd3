// Static files: the fallback page, the page for 404, headers and Cache-Control.
import test from 'ava';

import { makeFolder, removeFolder, request, requestsTo } from '../support/files.mjs';
import { ownServer, sharedServer, worker } from '../support/server.mjs';

const folder = makeFolder({
  'index.html': 'the program',
  '404.html': '<h1>nothing here</h1>',
  'app.js': 'app',
  'app.3f9a2c1b.js': 'hashed',
  'assets/logo.png': 'logo',
  'other/index.html': 'another',
});
test.after.always(() => removeFolder(folder));

const server = sharedServer(test, {
  workerPath: worker('echo'),
  threads: 1,
  static: {
    directory: folder,
    fallback: 'index.html',
    notFound: '404.html',
    headers: { 'Content-Security-Policy': "default-src 'self'", 'X-Frame-Options': 'DENY' },
  },
});
const get = requestsTo(server);
const GOING = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

test('a browser that opens a missing page gets the fallback', async (t) => {
  for (const target of ['/users/7', '/users/anna.smith?x=1', '/a/b/c/']) {
    for (const method of ['GET', 'HEAD']) {
      const { status, text, headers } = await get(target, { method, headers: GOING });
      t.deepEqual([status, text], [200, method === 'GET' ? 'the program' : ''], target);
      t.is(headers['content-type'], 'text/html; charset=utf-8');
      t.is(headers['cache-control'], 'no-cache');
    }
  }
  const { headers } = await get('/users/7', { headers: GOING });
  t.is((await get('/users/7', { headers: { ...GOING, 'If-None-Match': headers.etag } })).status, 304);
  t.is((await get('/other/', { headers: GOING })).text, 'another');
});

test('other missing files stay 404, with the page of notFound', async (t) => {
  for (const accept of [undefined, '*/*', 'image/png', 'application/json', 'text/html;q=0']) {
    const headers = accept === undefined ? {} : { Accept: accept };
    const answer = await get('/nothing.js', { headers });
    t.deepEqual([answer.status, answer.text], [404, '<h1>nothing here</h1>'], accept);
    t.is(answer.headers['content-type'], 'text/html; charset=utf-8');
    t.is(answer.headers.etag, undefined);
    t.is(answer.headers['x-frame-options'], 'DENY');
  }
  t.is((await get('/nothing', { headers: { Range: 'bytes=0-1' } })).status, 404);
  t.is((await get('/nothing', { headers: { 'If-None-Match': '*' } })).status, 404);
  const head = await get('/nothing', { method: 'HEAD' });
  t.deepEqual([head.status, head.text, head.headers['content-length']], [404, '', '21']);
  t.is((await get('/404.html')).status, 200);
});

test('headers are said with every file, and nosniff unless it is given', async (t) => {
  for (const target of ['/', '/app.js', '/app.3f9a2c1b.js']) {
    t.like((await get(target)).headers, {
      'content-security-policy': "default-src 'self'",
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
    });
  }
});

test('a name with a hash is kept for ever, any other is asked for again', async (t) => {
  t.is((await get('/app.3f9a2c1b.js')).headers['cache-control'], 'public, max-age=31536000, immutable');
  t.is((await get('/app.js')).headers['cache-control'], 'no-cache');
  t.is((await get('/')).headers['cache-control'], 'no-cache');
});

for (const [options, expected] of [
  [
    { cacheControl: 'max-age=60' },
    { app: 'max-age=60', hashed: 'public, max-age=31536000, immutable', logo: 'max-age=60' },
  ],
  [
    { cacheControl: false, immutable: false },
    { app: undefined, hashed: undefined, logo: undefined },
  ],
  [{ immutable: ['/assets/'] }, { app: 'no-cache', hashed: 'no-cache', logo: 'public, max-age=31536000, immutable' }],
]) {
  test(`Cache-Control with ${JSON.stringify(options)}`, async (t) => {
    const own = await ownServer(t, {
      workerPath: worker('echo'),
      threads: 1,
      static: { directory: folder, headers: { 'x-content-type-options': 'maybe' }, ...options },
    });
    const said = async (target) => (await request(own.addresses[0], target)).headers;
    t.is((await said('/app.js'))['cache-control'], expected.app);
    t.is((await said('/app.3f9a2c1b.js'))['cache-control'], expected.hashed);
    t.is((await said('/assets/logo.png'))['cache-control'], expected.logo);
    t.is((await said('/app.js'))['x-content-type-options'], 'maybe');
  });
}

test('an option that is wrong is named, and nothing is started', async (t) => {
  const own = await ownServer(t);
  const wrong = async (value) => {
    const { message } = await t.throwsAsync(own.start({ workerPath: worker('echo'), threads: 1, static: value }));
    return message;
  };
  t.regex(
    await wrong('/nowhere/at/all'),
    /^options\.static must be a directory: there is none at ".*nowhere.+at.+all"$/,
  );
  t.regex(
    await wrong([{ directory: folder }, { directory: `${folder}/app.js` }]),
    /^options\.static\[1\]\.directory must be a directory/,
  );
  t.regex(await wrong(7), /^options\.static must be the path of a directory, or an object with it, not 7$/);
  t.regex(await wrong({}), /^options\.static\.directory must be the path of a directory, not undefined$/);
  const all = await wrong({
    directory: folder,
    path: 'assets',
    fallback: '../x',
    notFound: '/404.html',
    dotfiles: 'yes',
    precompressed: 1,
    cacheControl: 'a\nb',
    immutable: 'assets',
    headers: { 'Content-Length': '1', 'a b': 'c', x: 'line\nbreak' },
    index: 'x',
  });
  for (const part of [
    'options.static.path must be a path such as "/assets", not "assets"',
    'options.static.fallback must be the name of a file in the directory, not "../x"',
    'options.static.notFound must be the name of a file in the directory, not "/404.html"',
    'options.static.dotfiles must be true or false, not "yes"',
    'options.static.precompressed must be true or false, not 1',
    'options.static.cacheControl must be a header\'s value or false, not "a\\nb"',
    'options.static.immutable must be true, false or an array of paths such as "/assets/", not "assets"',
    'options.static.headers cannot have Content-Length: it is made for each file',
    'options.static.headers cannot have "a b": it is not a valid header name',
    'options.static.headers.x must be a header\'s value, not "line\\nbreak"',
    'unknown option options.static.index',
  ]) {
    t.true(all.includes(part), `${part} in ${all}`);
  }
  t.deepEqual(own.addresses, []);
});
