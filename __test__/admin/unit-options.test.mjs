// The option `admin`, without starting anything: what is accepted, and how every problem is named.
import { createRequire } from 'node:module';
import test from 'ava';

const require = createRequire(import.meta.url);
const { parseStartOptions } = require('../../js/dist/options/start-options.js');

const MODULE = { workerPath: '/app/worker.js' };
const token = '0123456789abcdef';

function parsed(options) {
  try {
    return parseStartOptions({ bind: ':0', ...MODULE, ...options }, true).listeners.map(({ options }) => options);
  } catch (error) {
    return error instanceof TypeError ? error.message : `not a TypeError: ${error}`;
  }
}

test('a token is enough, and a listener overrides what all have', (t) => {
  const admin = { token, path: '/admin' };
  t.deepEqual(parsed({ stats: true, admin: { token } }), [{ stats: '/stats', admin }]);
  t.deepEqual(parsed({ stats: true, admin: false }), [{ stats: '/stats' }]);
  const bind = [':0', { address: ':0', admin: false, stats: false }, { address: ':0', admin: { token, path: '/a/b' } }];
  const own = { token, path: '/a/b' };
  t.deepEqual(parsed({ bind, stats: true, admin: { token } }), [
    { stats: '/stats', admin },
    {},
    { stats: '/stats', admin: own },
  ]);
  t.deepEqual(parsed({ bind: { address: ':0', stats: true }, admin: { token } }), [{ stats: '/stats', admin }]);
});

test('a token that is too short is refused with its place, and is not shown', (t) => {
  for (const wrong of [undefined, '', 'secret', '0123456789abcde', '0123456789abcdef ', 'é'.repeat(16), 5]) {
    const problem = 'options.admin.token must be a string of 16 to 1024 visible ASCII characters';
    t.is(parsed({ stats: true, admin: { token: wrong } }), problem);
  }
  const bind = [{ address: ':0', stats: true, admin: { token: 'short' } }];
  t.regex(parsed({ bind }), /^options\.bind\[0\]\.admin\.token must be /);
});

test('it needs stats on the same listener', (t) => {
  t.is(parsed({ admin: { token } }), 'options.admin needs stats on the same listener');
  const bind = [
    { address: ':0', stats: true },
    { address: ':0', admin: { token } },
  ];
  t.is(parsed({ bind }), 'options.bind[1].admin needs stats on the same listener');
  const off = [{ address: ':0', stats: false }, ':0'];
  t.is(parsed({ bind: off, stats: true, admin: { token } }), 'options.admin needs stats on the same listener');
});

test('other problems are named', (t) => {
  for (const [admin, problem] of [
    [true, 'options.admin must be an object with a token, or false, not true'],
    ['secret', 'options.admin must be an object with a token, or false, not "secret"'],
    [{ token, path: 'admin' }, 'options.admin.path must be a path such as "/admin", not "admin"'],
    [{ token, path: '/' }, 'options.admin.path must be a path such as "/admin", not "/"'],
    [{ token, path: '/a?b' }, 'options.admin.path must be a path such as "/admin", not "/a?b"'],
    [{ token, path: '/a/' }, 'options.admin.path must be a path such as "/admin", not "/a/"'],
    [{ token, tokens: [] }, 'unknown option options.admin.tokens'],
  ]) {
    t.is(parsed({ stats: true, admin }), problem);
  }
  const bind = { address: ':0', admin: { token, path: '/state' }, stats: '/state/of/it' };
  t.is(parsed({ bind }), 'options.bind.stats must be a path outside options.bind.admin.path');
  const tcp = { address: ':0', protocol: 'tcp', framing: 'line', stats: true, admin: { token } };
  t.regex(parsed({ bind: [tcp] }), /options\.bind\[0\]\.admin is for listeners with protocol 'http'/);
});
