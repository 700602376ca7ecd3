// The rules of a strict HTTP server from end to end, with files, pages and an endpoint that echoes the request: one
// request as exact bytes, its status, and for most of them the parsed values.
import test from 'ava';

import { makeFolder, removeFolder } from '../support/files.mjs';
import { request, talk } from '../support/http-connection.mjs';
import { sharedServer, worker } from '../support/server.mjs';

const PNG = Buffer.from('89504e470d0a1a0a0000000d494844520000000100000001080600000000ff80fe', 'hex');
const folder = makeFolder({
  'page.html': '<p>hé</p>',
  'style.css': 'p {}',
  'pixel.png': PNG,
  'deep/er/data.json': '{}',
  'a b.txt': 'blank',
});
test.after.always(() => removeFolder(folder));
const server = sharedServer(test, { workerPath: worker('rules'), threads: 1, static: folder });

const ECHO = '/api/echo';
const JSON_TYPE = 'Content-Type: application/json';
const FORM_TYPE = 'Content-Type: application/x-www-form-urlencoded';
const to = (line, headers, options) => request(`${line} HTTP/1.1`, headers, options);
const sized = (line, body, headers = []) =>
  to(line, [...headers, `Content-Length: ${Buffer.byteLength(body)}`], { body });
const chunked = (body, headers = []) => to(`POST ${ECHO}`, ['Transfer-Encoding: chunked', ...headers], { body });

/** One rule: the group and name, the request, its status, and a check of the answer. */
function rule(name, bytes, status, expected) {
  test(`${name}: ${status}`, async (t) => {
    const client = talk(t, server.addresses[0]).write(bytes);
    if (expected?.half) client.half();
    const answer = await client.answer({ head: name.includes('HEAD') });
    t.is(answer.status, status, answer.body);
    t.is(answer.version, 'HTTP/1.1');
    if (expected?.said) t.like(JSON.parse(answer.body), expected.said);
    if (expected?.type) t.is(answer.headers['content-type'], expected.type);
    if (expected?.body !== undefined) t.is(answer.body, expected.body);
    if (expected?.length) t.is(Number(answer.headers['content-length']), expected.length);
    if (status >= 400 && status !== 404) t.is(await client.closed(), '', 'a refusal is the last word');
  });
}

// 8 methods
for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
  rule(`method ${method}`, to(`${method} ${ECHO}`), 200, { said: { method } });
}
rule('method HEAD', to(`HEAD ${ECHO}`), 200, { body: '' });
rule('method of a list of jokes', to(`QjS+SpEc1aL-Valid%Method ${ECHO}`), 501);

// 5 targets
rule('target with a query', to(`GET ${ECHO}?a=1`), 200, { said: { url: `${ECHO}?a=1`, query: { a: '1' } } });
rule('target with escapes', to('GET /a%20b.txt'), 200, { body: 'blank' });
rule('target with a blank', to('GET /a b.txt'), 400);
rule('target with <>', to('GET /<script>'), 400);
rule('target that is too long', to(`GET /${'x'.repeat(10_000)}`), 414);

// 7 versions
rule('version 1.1', request(`GET ${ECHO} HTTP/1.1`), 200);
rule('version 1.0', request(`GET ${ECHO} HTTP/1.0`, [], { host: null }), 200);
rule('version 2.0', request(`GET ${ECHO} HTTP/2.0`), 505);
rule('version 9.9', request(`GET ${ECHO} HTTP/9.9`), 505);
rule('version of one digit', request(`GET ${ECHO} HTTP/1`), 400);
rule('version of another protocol', request(`GET ${ECHO} HTCPCP/1.0`), 400);
rule('version missing', request(`GET ${ECHO}`), 400);

// 7 headers
rule('header of token characters', to(`GET ${ECHO}`, ["!#$%&'*+-.^_`|~: x"]), 200);
rule('header with an empty value', to(`GET ${ECHO}`, ['X-Empty:']), 200);
rule('header with blanks around its value', to(`GET ${ECHO}`, ['Content-Type: \t text/x \t']), 200, {
  said: { type: 'text/x' },
});
rule('header without colon', to(`GET ${ECHO}`, ['nonsense']), 400);
rule('header with a blank in its name', to(`GET ${ECHO}`, ['A B: c']), 400);
rule('header without name', to(`GET ${ECHO}`, [': c']), 400);
rule('header with NUL', to(`GET ${ECHO}`, ['A: b\0c']), 400);

// 9 bodies
rule('body of exactly its length', sized(`POST ${ECHO}`, 'hello'), 200, { said: { body: 'hello' } });
rule('body beyond ASCII, counted in bytes', sized(`PUT ${ECHO}`, '€ é'), 200, { said: { body: '€ é' } });
rule('body of no bytes', sized(`PATCH ${ECHO}`, ''), 200, { said: { body: '' } });
rule('body with GET', sized(`GET ${ECHO}`, 'hello'), 200, { said: { body: 'hello' } });
rule('body of a length that is no number', to(`POST ${ECHO}`, ['Content-Length: five'], { body: 'hello' }), 400);
rule('body of a negative length', to(`POST ${ECHO}`, ['Content-Length: -5'], { body: 'hello' }), 400);
rule('body of two lengths', to(`POST ${ECHO}`, ['Content-Length: 5', 'Content-Length: 6'], { body: 'hello' }), 400);
rule('body that ends too early', to(`POST ${ECHO}`, ['Content-Length: 50'], { body: 'hello' }), 400, { half: true });
rule('body over the limit', to(`POST ${ECHO}`, [`Content-Length: ${2 ** 30}`]), 413);

// 11 chunked bodies
rule('chunked: one', chunked('5\r\nhello\r\n0\r\n\r\n'), 200, { said: { body: 'hello' } });
rule('chunked: several, in either case', chunked('a\r\n0123456789\r\nB\r\n0123456789a\r\n0\r\n\r\n'), 200, {
  said: { body: '01234567890123456789a' },
});
rule('chunked: none', chunked('0\r\n\r\n'), 200, { said: { body: '' } });
rule('chunked: extensions and trailers', chunked('5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n'), 200, {
  said: { body: 'hello' },
});
rule('chunked: a size that is no number', chunked('x\r\nhello\r\n0\r\n\r\n'), 400);
rule('chunked: a size with a blank', chunked('5 \r\nhello\r\n0\r\n\r\n'), 400);
rule('chunked: a size without CRLF', chunked('5hello\r\n0\r\n\r\n'), 400);
rule('chunked: data without CRLF', chunked('5\r\nhello0\r\n\r\n'), 400);
rule('chunked: data beyond its size', chunked('3\r\nhello\r\n0\r\n\r\n'), 400);
rule('chunked: an end that does not come', chunked('5\r\nhello\r\n'), 400, { half: true });
rule('chunked: and a length', chunked('5\r\nhello\r\n0\r\n\r\n', ['Content-Length: 5']), 400);

// 5 Hosts
rule('Host in any case', Buffer.from(`GET ${ECHO} HTTP/1.1\r\nhOST: x\r\n\r\n`), 200);
rule('Host missing', to(`GET ${ECHO}`, [], { host: null }), 400);
rule('Host empty', to(`GET ${ECHO}`, [], { host: '' }), 400);
rule('Host twice', to(`GET ${ECHO}`, ['Host: other']), 400);
rule('Host missing in 1.0', request(`GET ${ECHO} HTTP/1.0`, [], { host: null }), 200);

// 4 routes
for (const page of ['/', '/about', '/status']) {
  rule(`route ${page}`, to(`GET ${page}`), 200, { body: `<h1>${page}</h1>`, type: 'text/html; charset=utf-8' });
}
rule('path without a route', to('GET /nowhere'), 404, { body: 'Not Found' });

// 2 without body
rule('without body: POST', to(`POST ${ECHO}`), 200, { said: { body: '' } });
rule('without body: GET', to(`GET ${ECHO}`), 200, { said: { body: '' } });

// 7 queries; a blank is + as in forms
rule('query of several pairs', to(`GET ${ECHO}?a=1&b=2`), 200, { said: { query: { a: '1', b: '2' } } });
rule('query split at the first =', to(`GET ${ECHO}?a=1=2`), 200, { said: { query: { a: '1=2' } } });
rule('query with escapes', to(`GET ${ECHO}?%61=%E2%82%AC%20`), 200, { said: { query: { a: '€ ' } } });
rule('query with +', to(`GET ${ECHO}?a=b+c`), 200, { said: { query: { a: 'b c' } } });
rule('query without values', to(`GET ${ECHO}?a&b=`), 200, { said: { query: { a: '', b: '' } } });
rule('query that is empty', to(`GET ${ECHO}?`), 200, { said: { query: {} } });
rule('query with an invalid escape', to(`GET ${ECHO}?a=%zz`), 400);

// 8 of JSON
rule('JSON: an object', sized(`POST ${ECHO}`, '{"a":[1]}', [JSON_TYPE]), 200, { said: { json: { a: [1] } } });
rule('JSON: an array', sized(`POST ${ECHO}`, '[1,"é"]', [JSON_TYPE]), 200, { said: { json: [1, 'é'] } });
rule('JSON: a falsy value', sized(`POST ${ECHO}`, '0', [JSON_TYPE]), 200, { said: { json: 0, body: '0' } });
rule('JSON: nothing', sized(`POST ${ECHO}`, '', [JSON_TYPE]), 200, { said: { json: null } });
rule('JSON: with a charset', sized(`POST ${ECHO}`, 'true', [`${JSON_TYPE}; charset=utf-8`]), 200, {
  said: { json: true },
});
rule('JSON: in chunks', chunked('3\r\n{"a\r\n4\r\n":1}\r\n0\r\n\r\n', [JSON_TYPE]), 200, { said: { json: { a: 1 } } });
rule('JSON: by another name', sized(`POST ${ECHO}`, '{"a":1}', ['Content-Type: text/plain']), 200, {
  said: { body: '{"a":1}' },
});
test('JSON: invalid: 400', async (t) => {
  for (const body of ['{', '{a:1}', "'a'", '1 2']) {
    const client = talk(t, server.addresses[0]).write(sized(`POST ${ECHO}`, body, [JSON_TYPE]));
    t.is((await client.answer()).status, 400, body);
  }
});

// 7 forms
rule('form of several pairs', sized(`POST ${ECHO}`, 'a=1&b=2', [FORM_TYPE]), 200, {
  said: { form: { a: '1', b: '2' } },
});
rule('form with escapes', sized(`POST ${ECHO}`, 'a=%C3%A9%26', [FORM_TYPE]), 200, { said: { form: { a: 'é&' } } });
rule('form with +', sized(`POST ${ECHO}`, 'a+b=c+d', [FORM_TYPE]), 200, { said: { form: { 'a b': 'c d' } } });
rule('form without values', sized(`POST ${ECHO}`, 'a&b=', [FORM_TYPE]), 200, { said: { form: { a: '', b: '' } } });
rule('form that is empty', sized(`POST ${ECHO}`, '', [FORM_TYPE]), 200, { said: { form: {} } });
rule('form by another name', sized(`POST ${ECHO}`, 'a=1', ['Content-Type: text/plain']), 200, {
  said: { body: 'a=1' },
});
test('form with an invalid escape: 400', async (t) => {
  const client = talk(t, server.addresses[0]).write(sized(`POST ${ECHO}`, 'a=%zz', [FORM_TYPE]));
  t.is((await client.answer()).status, 400);
});

// 7 files
rule('file of HTML', to('GET /page.html'), 200, { body: '<p>hé</p>', type: 'text/html; charset=utf-8' });
rule('file of CSS', to('GET /style.css'), 200, { body: 'p {}', type: 'text/css; charset=utf-8' });
rule('file of bytes', to('GET /pixel.png'), 200, { body: PNG.toString(), length: PNG.length, type: 'image/png' });
rule('file in a folder', to('GET /deep/er/data.json'), 200, { body: '{}', type: 'application/json; charset=utf-8' });
rule('file and HEAD', to('HEAD /pixel.png'), 200, { body: '', length: PNG.length });
rule('file that is a folder', to('GET /deep/er'), 404);
test('file outside of the folder: 404', async (t) => {
  for (const target of ['/../http-rules.test.mjs', '/deep/../../x', '/%2e%2e/x', '/..%2fx', '/deep/er/data.json%00']) {
    const client = talk(t, server.addresses[0]).write(to(`GET ${target}`));
    t.is((await client.answer()).status, 404, target);
  }
});

// 2 of keep-alive
test('keep-alive: a connection takes the next request', async (t) => {
  const client = talk(t, server.addresses[0]);
  for (const method of ['GET', 'POST', 'GET']) {
    const { headers } = await client.write(to(`${method} ${ECHO}`, ['Connection: keep-alive'])).answer();
    t.is(headers.connection, 'keep-alive');
    t.is(headers['keep-alive'], 'timeout=5, max=1000');
  }
});
test('keep-alive: close closes', async (t) => {
  const client = talk(t, server.addresses[0]).write(to(`GET ${ECHO}`, ['Connection: close']));
  t.is((await client.answer()).headers.connection, 'close');
  t.is(await client.closed(), '');
});
