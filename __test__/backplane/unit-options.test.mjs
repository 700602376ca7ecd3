// The backplane option, without connecting to anything: what is accepted, and how every problem is reported.
import { createRequire } from 'node:module';
import test from 'ava';

const { identityOf, loadBackplane, readBackplane } = createRequire(import.meta.url)(
  '../../js/dist/options/backplane.js',
);

function read(value) {
  const problems = [];
  const plan = readBackplane(value, 'options.backplane', problems);
  return { plan, problems };
}

const nobody = { user: undefined, password: undefined, token: undefined };

test('URLs', (t) => {
  const one = (host, port) => [{ host, port }];
  for (const [url, plan] of [
    ['redis://localhost', { protocol: 'redis', servers: one('localhost', 6379), ...nobody, tls: undefined }],
    ['valkey://[::1]:7000/', { protocol: 'redis', servers: one('::1', 7000) }],
    ['redis://me:a%2Fb@h/3', { protocol: 'redis', user: 'me', password: 'a/b' }],
    ['redis://:pw@h', { user: undefined, password: 'pw' }],
    ['redis+cluster://a,b:7001', { protocol: 'redis-cluster', servers: [...one('a', 6379), ...one('b', 7001)] }],
    ['nats://h', { protocol: 'nats', servers: one('h', 4222), ...nobody }],
    ['nats://secret@h', { token: 'secret', user: undefined }],
    ['nats://me:pw@h', { user: 'me', password: 'pw', token: undefined }],
    ['redis+sentinel://a,b:7/my-master', { servers: [...one('a', 26379), ...one('b', 7)] }],
  ]) {
    const { plan: got, problems } = read(url);
    t.deepEqual(problems, [], url);
    t.like(got, { prefix: 'millrace', waitMs: 0, ...plan }, url);
  }
  t.truthy(read('rediss://h').plan.tls);
  t.truthy(read('tls://h').plan.tls);
});

test('every problem is reported, and no password is shown', (t) => {
  for (const url of [
    '',
    'localhost',
    'http://h',
    'redis://',
    'redis://h:0',
    'redis://h:70000',
    'redis://h/x',
    'redis://a b',
    5,
  ]) {
    t.regex(read(url).problems.join(), /^options\.backplane must be (an object|a URL)/, String(url));
  }
  t.regex(read({ url: 7 }).problems.join(), /^options\.backplane\.url must be a URL such as .* not 7$/);
  for (const [url, said] of [
    ['redis+sentinel://:sesame@h', /cannot be .*redis\+sentinel:\/\/…@h.*: Sentinels and the name of the master/],
    ['sentinel://h', /Sentinels and the name of the master/],
    ['wss://h', /over TCP/],
    ['unix:/run/redis.sock', /over TCP/],
  ]) {
    const [problem, ...others] = read(url).problems;
    t.regex(problem, said);
    t.deepEqual(others, []);
    t.notRegex(problem, /sesame/);
  }
  for (const key of ['nkey', 'creds', 'seed', 'jwt']) {
    const [problem, ...others] = read({ url: 'nats://h', [key]: 'SUACSECRET' }).problems;
    t.regex(problem, new RegExp(`^options\\.backplane\\.${key} (?:is not an option|must be the seed)`));
    t.deepEqual(others, []);
    t.notRegex(problem, /SECRET/);
  }
  const secret = read('redis://me:sesame@h:0').problems.join();
  t.regex(secret, /redis:\/\/…@h:0/);
  t.notRegex(secret, /sesame/);
  const { problems } = read({
    url: 'redis://h',
    prefix: 'a*',
    token: 'x',
    user: 'me',
    waitMs: -1,
    tls: { cert: 'a' },
    x: 1,
  });
  t.deepEqual(
    problems.map((problem) => problem.split(' ', 3).join(' ')),
    [
      'unknown option options.backplane.x',
      'options.backplane.prefix must be',
      'options.backplane.token is for',
      'options.backplane.user needs options.backplane.password',
      'options.backplane.tls needs a',
      'options.backplane.tls.cert and options.backplane.tls.key',
      'options.backplane.waitMs must be',
    ],
  );
  for (const prefix of ['', '.a', 'a.', 'a..b', 'a b', 'x'.repeat(65)]) {
    t.is(read({ url: 'redis://h', prefix }).problems.length, 1, prefix);
  }
});

test('Sentinels, and keys of NATS', (t) => {
  const sentinel = { user: 'me', password: 'pw' };
  const { plan } = read({ url: 'redis+sentinel://:secret@h/name', sentinel });
  t.like(plan, { protocol: 'redis', password: 'secret', sentinel: { master: 'name', ...sentinel } });
  t.truthy(read('rediss+sentinel://h/name').plan.tls);
  const seed = `SU${'A'.repeat(56)}`;
  t.is(read({ url: 'nats://h', nkey: seed }).plan.nkey, seed);
  t.like(read({ url: 'nats://h', credentials: '/a.creds' }).plan.credentials, { from: '/a.creds' });
  for (const [value, said] of [
    [{ url: 'redis://h', sentinel }, /^options\.backplane\.sentinel needs a URL with Sentinels/],
    [
      { url: 'redis+sentinel://h/n', sentinel: { user: 'me' } },
      /sentinel\.user needs options\.backplane\.sentinel\.pass/,
    ],
    [{ url: 'redis+sentinel://h/n', sentinel: { password: '' } }, /sentinel\.password must be a string that is not/],
    [{ url: 'redis+sentinel://h/n', sentinel: { name: 'n' } }, /unknown option options\.backplane\.sentinel\.name/],
    [{ url: 'redis://h', nkey: seed }, /^options\.backplane\.nkey is for NATS only/],
    [{ url: 'redis://h', credentials: '/a' }, /^options\.backplane\.credentials is for NATS only/],
    [{ url: 'nats://h', credentials: '' }, /^options\.backplane\.credentials must be/],
    [{ url: 'nats://h', nkey: seed, token: 'x' }, /^options\.backplane\.nkey cannot be used together with token/],
    [{ url: 'nats://h', nkey: `SA${'A'.repeat(56)}` }, /^options\.backplane\.nkey must be the seed of a user/],
  ]) {
    const { problems } = read(value);
    t.is(problems.length, 1, problems.join());
    t.regex(problems[0], said);
  }
});

test('equal options are equal, however they are written', (t) => {
  const id = (value) => identityOf(read(value).plan);
  t.is(id('redis://h'), id({ url: 'redis://h:6379', prefix: 'millrace', waitMs: 7 }));
  t.is(id('redis://me:pw@h'), id({ url: 'redis://h', user: 'me', password: 'pw' }));
  t.not(id('redis://h'), id('redis://g'));
  t.not(id('redis://h'), id('rediss://h'));
});

test('what the native side gets', async (t) => {
  const plain = await loadBackplane(read('redis+cluster://me:pw@a,b:7001').plan);
  t.deepEqual(plain, {
    protocol: 'redis-cluster',
    servers: ['a', 6379, 'b', 7001],
    prefix: 'millrace',
    user: 'me',
    password: 'pw',
  });
  const { tls } = await loadBackplane(read('rediss://h').plan);
  t.regex(Buffer.from(tls.ca).toString(), /-----BEGIN CERTIFICATE-----/, "the runtime's authorities");
  const missing = read({ url: 'rediss://h', tls: { ca: '/nowhere.pem' } }).plan;
  const error = await t.throwsAsync(loadBackplane(missing));
  t.is(error.code, 'ERR_MILLRACE_INVALID_TLS');
  t.regex(error.message, /options\.backplane\.tls\.ca/);
});
