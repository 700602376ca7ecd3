// What a handler reads from a request. Without a network.
import test from 'ava';
import { ask, PlainExchange } from '../support/exchange.mjs';
import { createApp, json, urlencoded } from '../support/http-app.mjs';

/** The answer of an app whose only handler is this one. */
function answerTo(handler, target = '/', given = {}, method = 'GET') {
  return ask(createApp().all('*', handler), method, target, given);
}

/** The request as a handler sees it. */
async function seen(read, target, given, method) {
  let value;
  const { status, error } = await answerTo(
    (req, res) => {
      value = read(req);
      res.end();
    },
    target,
    given,
    method,
  );
  if (error !== undefined) throw error;
  return status === 200 ? value : status;
}

const plain = (fields) => ({ ...fields });
const JSON_TYPE = ['content-type', 'application/json; charset=utf-8'];
const FORM_TYPE = ['content-type', 'application/x-www-form-urlencoded'];

test('the properties of a request', async (t) => {
  const read = ({ method, url, path, httpVersion, ip, clientInfo, protocol, secure, params }) => {
    return { method, url, path, httpVersion, ip, clientInfo, protocol, secure, params: plain(params) };
  };
  t.deepEqual(await seen(read, '/a%20b?c=%20#', {}, 'PROPFIND'), {
    method: 'PROPFIND',
    url: '/a%20b?c=%20#',
    path: '/a%20b',
    httpVersion: 'HTTP/1.1',
    ip: '127.0.0.1',
    clientInfo: { fd: -1, address: '127.0.0.1', port: 4000 },
    protocol: 'http',
    secure: false,
    params: { '*': 'a b' },
  });
});

for (const [query, expected] of [
  ['', {}],
  ['?', {}],
  ['?x=1&y=2', { x: '1', y: '2' }],
  ['?x=1&x=2', { x: '2' }],
  ['?a+b=c+d&e=%2B', { 'a b': 'c d', e: '+' }],
  ['?flag&empty=&=nameless&&', { flag: '', empty: '', '': 'nameless' }],
  ['?a=b=c', { a: 'b=c' }],
  ['?a=%zz%20%C3%A9%ff', { a: '%zz \u00e9%ff' }],
  ['?a=1?b=2', { a: '1?b=2' }],
  ['?__proto__=x&constructor=y', JSON.parse('{"__proto__":"x","constructor":"y"}')],
]) {
  test(`the query ${query}`, async (t) => {
    const found = await seen((req) => req.query, `/path${query}`);
    t.is(Object.getPrototypeOf(found), null);
    t.deepEqual(Object.entries(found), Object.entries(expected));
  });
}

test('a long query arrives whole', async (t) => {
  const value = 'v'.repeat(5000);
  const name = 'n'.repeat(500);
  t.is((await seen((req) => req.query, `/?${name}=${value}&last=1`))[name], value);
});

test('headers have names in lower case, several lines are joined', async (t) => {
  const headers = ['host', 'a', 'x-a', '1', 'x-a', '2', 'cookie', 'a=1', 'cookie', 'b=2', '__proto__', 'p'];
  const read = (req) => [Object.entries(req.headers), req.get('X-A'), req.get('none'), plain(req.cookies)];
  t.deepEqual(await seen(read, '/', { headers }), [
    [
      ['host', 'a'],
      ['x-a', '1, 2'],
      ['cookie', 'a=1; b=2'],
      ['__proto__', 'p'],
    ],
    '1, 2',
    undefined,
    { a: '1', b: '2' },
  ]);
});

test('cookies are decoded, the first of a name counts', async (t) => {
  const cookie = 'a=1; a=2; b="q%20q"; c=%zz; bare; =x; d=e=f; __proto__=p';
  const cookies = await seen((req) => req.cookies, '/', { headers: ['cookie', cookie] });
  t.deepEqual(Object.entries(cookies), [
    ['a', '1'],
    ['b', 'q q'],
    ['c', '%zz'],
    ['d', 'e=f'],
    ['__proto__', 'p'],
  ]);
});

test('the body is text, the value of JSON is beside it', async (t) => {
  const given = { headers: JSON_TYPE, body: '{"a": "\u20ac"}' };
  for (const late of [false, true]) {
    const read = (req) => [req.body, req.json, req.text, Buffer.from(req.bytes).toString(), req.form];
    const text = '{"a": "\u20ac"}';
    t.deepEqual(await seen(read, '/', { ...given, late }, 'POST'), [text, { a: '\u20ac' }, text, text, undefined]);
  }
  t.deepEqual(await seen((req) => [req.body, req.bytes.length], '/'), ['', 0]);
});

test('falsy JSON is not lost, an empty body is null, another type is none', async (t) => {
  for (const text of ['0', 'false', 'null', '""']) {
    t.is(await seen((req) => req.json, '/', { headers: JSON_TYPE, body: text }, 'POST'), JSON.parse(text));
  }
  t.is(await seen((req) => req.json, '/', { headers: JSON_TYPE, body: '' }, 'POST'), null);
  t.is(await seen((req) => req.json, '/', { headers: ['content-type', 'text/plain'], body: '1' }, 'POST'), undefined);
  const problem = { headers: ['content-type', 'application/problem+json'], body: '1' };
  t.is(await seen((req) => req.json, '/', problem, 'POST'), 1);
});

test('invalid JSON is answered with 400 when it is asked for, and only then', async (t) => {
  const given = { headers: JSON_TYPE, body: '{"a": ' };
  t.is(await seen((req) => req.json, '/', given, 'POST'), 400);
  t.is(await seen((req) => req.body, '/', given, 'POST'), '{"a": ');
});

test("'json body' makes the body the value, or the text if it is not valid", async (t) => {
  const app = createApp().set('json body', true);
  app.post('/', (req, res) => res.json([typeof req.body, req.body, req.text]));
  const body = async (text, headers = JSON_TYPE) =>
    JSON.parse((await ask(app, 'POST', '/', { headers, body: text })).body);
  t.deepEqual(await body('{"a":1}'), ['object', { a: 1 }, '{"a":1}']);
  t.deepEqual(await body('0'), ['number', 0, '0']);
  t.deepEqual(await body('{'), ['string', '{', '{']);
  t.deepEqual(await body('{}', ['content-type', 'text/plain']), ['string', '{}', '{}']);
});

test('forms: + is a blank, an invalid escape is answered with 400', async (t) => {
  const form = (body) => seen((req) => plain(req.form), '/', { headers: FORM_TYPE, body }, 'POST');
  t.deepEqual(await form('a+b=c%20d&e=%E2%82%AC&a=&flag'), { 'a b': 'c d', e: '\u20ac', a: '', flag: '' });
  t.deepEqual(await form(''), {});
  t.is(await form('a=%zz'), 400);
  t.is(await seen((req) => req.form, '/', { headers: JSON_TYPE, body: 'a=1' }, 'POST'), undefined);
});

test('a form of six million names without a value is read', async (t) => {
  const app = createApp().set('body limit', 2 ** 24);
  app.post('/', (req, res) => res.json([Object.keys(req.form), req.form.b]));
  const { body } = await ask(app, 'POST', '/', { headers: FORM_TYPE, body: `${'a&'.repeat(6 * 2 ** 20)}b=c` });
  t.is(body, '[["a","b"],"c"]');
});

test('the middlewares of programs for Express parse the body', async (t) => {
  const app = createApp().use(json({ limit: 20 }), urlencoded({ extended: true }));
  app.post('/', (req, res) => res.json(req.body));
  const post = (headers, body) => ask(app, 'POST', '/', { headers, body });
  t.is((await post(JSON_TYPE, '{"a":1}')).body, '{"a":1}');
  t.is((await post(FORM_TYPE, 'a=1&b=2')).body, '{"a":"1","b":"2"}');
  t.is((await post(['content-type', 'text/plain'], 'text')).body, '"text"');
  t.is((await post(JSON_TYPE, '{')).status, 400);
  t.is((await post(JSON_TYPE, `"${'x'.repeat(20)}"`)).status, 413);
  for (const make of [json, urlencoded]) {
    for (const limit of ['10mb', -1, Number.NaN, null]) {
      t.throws(() => make({ limit }), { instanceOf: TypeError, message: /options\.limit must be a number of bytes/ });
    }
  }
});

for (const late of [false, true]) {
  test(`a body over the limit is answered with 413, ${late ? 'also one that comes in pieces' : 'one at it is not'}`, async (t) => {
    const app = createApp().set('body limit', 4);
    app.post('/', (req, res) => res.send(req.body));
    t.is((await ask(app, 'POST', '/', { body: 'four', late })).body, 'four');
    const { status, body, error } = await ask(app, 'POST', '/', { body: 'fiver', late });
    t.is(status, 413);
    t.is(body, 'Payload Too Large');
    t.is(error, undefined);
    app.use((error, _req, res, _next) => res.status(400).send(`seen ${error.status}`));
    t.regex((await ask(app, 'POST', '/', { body: 'fiver', late })).body, /^seen 413$/);
  });
}

test('the signal of a request is aborted when the client disconnects', async (t) => {
  const exchange = new PlainExchange('GET', '/');
  let signal;
  const app = createApp().get('/', (req) => {
    signal = req.signal;
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  });
  const handled = app[Symbol.for('millrace.exchange')](exchange);
  t.false(signal.aborted);
  exchange.leave();
  t.true(signal.aborted);
  await handled;
});
