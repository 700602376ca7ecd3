// The option `static`, without starting anything: how each form is read, and where relative paths lead.
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import test from 'ava';

const { parseStartOptions } = createRequire(import.meta.url)('../../js/dist/options/start-options.js');
const HERE = path.resolve('__test__');

/** The options that the native side gets for each listener. */
const plans = (value, bind = ':0') =>
  parseStartOptions({ bind, workerPath: '/app/worker.js', static: value }, true).listeners.map(
    ({ options }) => options.static,
  );

test('a path, a URL, an object and a list of them', (t) => {
  t.deepEqual(plans('__test__'), [[{ directory: HERE }]]);
  t.deepEqual(plans(pathToFileURL(HERE)), [[{ directory: HERE }]]);
  t.deepEqual(plans([pathToFileURL(HERE)]), [[{ directory: HERE }]]);
  t.deepEqual(plans({ directory: pathToFileURL(HERE) }), [[{ directory: HERE }]]);
  t.deepEqual(plans(['__test__', { directory: 'js', path: '/js' }]), [
    [{ directory: HERE }, { directory: path.resolve('js'), path: '/js' }],
  ]);
  t.deepEqual(plans([]), [[]]);
  t.deepEqual(plans(undefined), [undefined]);
});

test('a listener has its own option, or the common one', (t) => {
  const bind = [':0', { address: ':0' }, { address: ':0', static: 'js' }, { address: ':0', static: [] }];
  t.deepEqual(plans('__test__', bind), [
    [{ directory: HERE }],
    [{ directory: HERE }],
    [{ directory: path.resolve('js') }],
    [],
  ]);
});

test('every option arrives', (t) => {
  const [[plan]] = plans({
    directory: '__test__',
    path: '/a b/c/',
    fallback: 'index.html',
    notFound: 'pages/404.html',
    dotfiles: true,
    precompressed: false,
    cacheControl: 'max-age=60, public',
    immutable: ['/assets/'],
    headers: { 'X-One': 'a', 'x-two': 'b c' },
  });
  t.deepEqual(plan, {
    directory: HERE,
    path: '/a b/c/',
    fallback: 'index.html',
    notFound: 'pages/404.html',
    dotfiles: true,
    precompressed: false,
    cacheControl: 'max-age=60, public',
    hashedNames: false,
    immutable: ['/assets/'],
    headers: ['X-One', 'a', 'x-two', 'b c'],
  });
  t.like(plans({ directory: '__test__', cacheControl: false, immutable: false })[0][0], {
    cacheControl: '',
    hashedNames: false,
  });
});

for (const wrong of ['', 'a', '//', '/a//b', '/../a', '/a/./b', '/a\\b', '/%61', '/a\0b', 7]) {
  test(`a path cannot be ${JSON.stringify(wrong)}`, (t) => {
    t.throws(() => plans({ directory: '__test__', path: wrong }), {
      instanceOf: TypeError,
      message: /options\.static\.path must be a path such as/,
    });
  });
}

for (const wrong of ['', '/a', 'a/', '../a', './a', 'a//b', 'a\\b', true]) {
  test(`a page cannot be ${JSON.stringify(wrong)}`, (t) => {
    t.throws(() => plans({ directory: '__test__', fallback: wrong }), {
      instanceOf: TypeError,
      message: /options\.static\.fallback must be the name of a file/,
    });
  });
}
