// Which requests are valid, and which are refused before an endpoint gets them: one test per rule, with exact bytes.
// The endpoint is that of WebSockets, which answers a valid GET with 426 and every other valid request with 405.
import test from 'ava';

import { request, talk } from '../support/http-connection.mjs';
import { sharedServer, worker } from '../support/server.mjs';

const server = sharedServer(test, { workerPath: worker('echo'), threads: 1 });
const GOOD = [405, 426];
const NEXT = request('GET /next HTTP/1.1');

/** The status of the only answer to these bytes. */
async function statusOf(t, bytes) {
  const connection = talk(t, server.addresses[0]).write(bytes);
  const answer = await connection.answer({ head: String(bytes).startsWith('HEAD') });
  return { ...answer, connection };
}

/** Refused with `status`: one answer, then the end, whatever was sent after it. */
function refuses(name, status, bytes) {
  test(`${status}: ${name}`, async (t) => {
    const answer = await statusOf(t, Buffer.concat([Buffer.from(bytes), NEXT]));
    t.is(answer.status, status, answer.body);
    t.is(answer.headers.connection, 'close');
    t.regex(answer.headers.date ?? '', /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/);
    t.is(answer.headers['content-type'], 'text/plain; charset=utf-8');
    t.is(Number(answer.headers['content-length']), Buffer.byteLength(answer.body));
    t.is(await answer.connection.closed(), '', 'nothing but the refusal');
    t.false(answer.connection.reset, 'closed in order, so that the answer is not lost');
  });
}

/** Accepted: an endpoint answers this request and the next one on the connection. */
function passes(name, bytes, { keeps = true } = {}) {
  test(`passes: ${name}`, async (t) => {
    const answer = await statusOf(t, Buffer.concat([Buffer.from(bytes), ...(keeps ? [NEXT] : [])]));
    t.true(GOOD.includes(answer.status), `${answer.status} ${answer.body}`);
    if (keeps) t.is((await answer.connection.answer()).status, 426);
  });
}

const get = (...lines) => request('GET / HTTP/1.1', lines);
const post = (lines, body = '') => request('POST / HTTP/1.1', lines, { body });
const chunked = (body) => post(['Transfer-Encoding: chunked'], body);

// methods
for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE']) {
  passes(`method ${method}`, request(`${method} / HTTP/1.1`));
}
refuses('method CONNECT', 501, request('CONNECT example.com:443 HTTP/1.1'));
refuses('a method that is not known', 501, request('BREW /pot HTTP/1.1'));
refuses('methods have their case', 501, request('get / HTTP/1.1'));
refuses('a method that is no token', 400, request('G@T / HTTP/1.1'));
refuses('a method with a control character', 400, request('G\x01T / HTTP/1.1'));
refuses('no method', 400, request(' / HTTP/1.1'));
refuses('TLS on a plain port', 400, Buffer.from('16030100c8010000c40303', 'hex'));

// targets
for (const target of ['/', '/a/b%20c?d=e&f=%C3%A9', "/-._~:[]@!$&'()*+,;=", '/q?{a}|b', 'http://example.com/x']) {
  passes(`target ${target}`, request(`GET ${target} HTTP/1.1`));
}
passes('target * with OPTIONS', request('OPTIONS * HTTP/1.1'));
refuses('a blank in the target', 400, request('GET /a b HTTP/1.1'));
refuses('< and > in the target', 400, request('GET /<a> HTTP/1.1'));
refuses('a quotation mark in the target', 400, request('GET /"a" HTTP/1.1'));
refuses('a fragment in the target', 400, request('GET /a#b HTTP/1.1'));
refuses('bytes that are no ASCII in the target', 400, request('GET /\xe9 HTTP/1.1'));
refuses('an invalid escape', 400, request('GET /a?b=%zz HTTP/1.1'));
refuses('half an escape', 400, request('GET /a%4 HTTP/1.1'));
refuses('* with another method than OPTIONS', 400, request('GET * HTTP/1.1'));
refuses('a target without a slash', 400, request('GET a/b HTTP/1.1'));
refuses('a target of another scheme', 400, request('GET ftp://a/ HTTP/1.1'));
refuses('a target of 10,000 characters', 414, request(`GET /${'p'.repeat(10_000)} HTTP/1.1`));
refuses('a request line longer than a head may be', 414, request(`GET /${'p'.repeat(20_000)} HTTP/1.1`));

// versions
passes('HTTP/1.1', request('GET / HTTP/1.1'));
passes('HTTP/1.0', request('GET / HTTP/1.0'), { keeps: false });
for (const version of ['HTTP/0.9', 'HTTP/1.2', 'HTTP/2.0', 'HTTP/3.0', 'HTTP/9.9']) {
  refuses(`version ${version}`, 505, request(`GET / ${version}`));
}
for (const version of ['HTTP/1', 'HTTP/1.', 'HTTP/1.10', 'http/1.1', 'HTTP/a.b', 'HTTPS/1.1', '1.1']) {
  refuses(`version ${version}`, 400, request(`GET / ${version}`));
}
refuses('no version', 400, request('GET /'));
refuses('two blanks in the request line', 400, request('GET  / HTTP/1.1'));
refuses('a blank behind the version', 400, request('GET / HTTP/1.1 '));
refuses('the preface of HTTP/2', 501, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

// headers
passes('a name of every token character', get("`!#$%&'*+-.^_|~09: x"));
passes('an empty value', get('X-Empty:'));
passes('blanks and tabs around a value', get('X: \t value \t'));
passes('bytes that are no ASCII in a value', get('X: \xe9\xff'));
passes('names in any case', Buffer.from('GET / HTTP/1.1\r\nhOsT: x\r\nCONTENT-length: 0\r\n\r\n'));
passes('an empty line in front of the request', Buffer.concat([Buffer.from('\r\n'), get()]));
refuses('a header without colon', 400, get('nonsense'));
refuses('a header without name', 400, get(': x'));
refuses('a blank in a name', 400, get('Bad Name: x'));
refuses('a blank in front of the colon', 400, get('Name : x'));
refuses('a character in a name that is no token', 400, get('Na(me): x'));
refuses('NUL in a value', 400, get('X: a\0b'));
refuses('a control character in a value', 400, get('X: a\x1bb'));
refuses('CR alone in a value', 400, get('X: a\rb'));
refuses('a folded line', 400, get('X: a', ' b'));
refuses('a folded line with a tab', 400, get('X: a', '\tb'));
refuses('a blank in front of the first header', 400, Buffer.from('GET / HTTP/1.1\r\n Host: x\r\n\r\n'));
refuses('LF alone behind the request line', 400, Buffer.from('GET / HTTP/1.1\nHost: x\r\n\r\n'));
refuses('LF alone behind a header', 400, Buffer.from('GET / HTTP/1.1\r\nHost: x\n\r\n'));
refuses('LF alone behind the head', 400, Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\n'));
refuses('a head over 16 KiB', 431, get(`X: ${'x'.repeat(17 * 1024)}`));
refuses('more than 100 headers', 431, get(...Array.from({ length: 100 }, (_, index) => `X-${index}: y`)));
passes('100 headers', get(...Array.from({ length: 99 }, (_, index) => `X-${index}: y`)));

// Host
for (const host of ['x', 'example.com:8080', '[::1]:8080', '127.0.0.1']) {
  passes(`Host: ${host}`, request('GET / HTTP/1.1', [], { host }));
}
passes('no Host in HTTP/1.0', request('GET / HTTP/1.0', [], { host: null }), { keeps: false });
refuses('no Host', 400, request('GET / HTTP/1.1', [], { host: null }));
refuses('an empty Host', 400, request('GET / HTTP/1.1', [], { host: '' }));
refuses('two Hosts', 400, get('Host: other'));
refuses('two equal Hosts', 400, get('Host: localhost'));
for (const host of ['a b', 'a/b', 'a@b', 'a:b', '[::1', ':80']) {
  refuses(`Host: ${host}`, 400, request('GET / HTTP/1.1', [], { host }));
}

// bodies
for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'GET']) {
  passes(`${method} with a body`, request(`${method} / HTTP/1.1`, ['Content-Length: 5'], { body: 'hello' }));
}
passes('a body of no bytes', post(['Content-Length: 0']));
passes('POST without a length has no body', post([]));
passes('a length with zeros in front', post(['Content-Length: 0005'], 'hello'));
for (const length of ['-1', '+5', 'five', '5.0', '0x5', '5 5', '5,5', '5, 6', '']) {
  refuses(`Content-Length: ${length}`, 400, post([`Content-Length: ${length}`], 'hello'));
}
refuses('two lengths', 400, post(['Content-Length: 5', 'Content-Length: 6'], 'hello'));
refuses('two equal lengths', 400, post(['Content-Length: 5', 'Content-Length: 5'], 'hello'));
refuses('a length over the limit', 413, post([`Content-Length: ${16 * 1024 * 1024 + 1}`], 'hello'));
refuses('a length beyond all numbers', 413, post([`Content-Length: ${'9'.repeat(30)}`], 'hello'));
refuses('HTTP/1.0 with a body and no length', 411, request('POST / HTTP/1.0', [], { body: 'hello' }));
refuses('an announced body without a length', 411, post(['Expect: 100-continue'], 'hello'));
refuses('an expectation that is not known', 417, post(['Content-Length: 5', 'Expect: wonders'], 'hello'));
refuses('CONNECT with a body', 400, request('CONNECT a:1 HTTP/1.1', ['Content-Length: 5'], { body: 'hello' }));

// chunked
passes('no chunks', chunked('0\r\n\r\n'));
passes('one chunk', chunked('5\r\nhello\r\n0\r\n\r\n'));
passes('chunks in either case', chunked('a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n'));
passes('extensions', chunked('5;a;b=c;d="e f"\r\nhello\r\n0;last\r\n\r\n'));
passes('trailers', chunked('5\r\nhello\r\n0\r\nX-Sum: abc\r\nX-More: d\r\n\r\n'));
for (const [name, body] of Object.entries({
  'no size': '\r\nhello\r\n0\r\n\r\n',
  'a size that is no number': 'xyz\r\nhello\r\n0\r\n\r\n',
  'a negative size': '-5\r\nhello\r\n0\r\n\r\n',
  'a size with 0x': '0x5\r\nhello\r\n0\r\n\r\n',
  'a blank in front of a size': ' 5\r\nhello\r\n0\r\n\r\n',
  'a blank behind a size': '5 \r\nhello\r\n0\r\n\r\n',
  'LF alone behind a size': '5\nhello\r\n0\r\n\r\n',
  'no CRLF behind a chunk': '5\r\nhello0\r\n\r\n',
  'LF alone behind a chunk': '5\r\nhello\n0\r\n\r\n',
  'a chunk longer than its size': '3\r\nhello\r\n0\r\n\r\n',
  'a size of more than 64 bits': '10000000000000000\r\nhello\r\n0\r\n\r\n',
  'a control character in an extension': '5;a\x01\r\nhello\r\n0\r\n\r\n',
  'a length in a trailer': '0\r\nContent-Length: 5\r\n\r\n',
  'a trailer without colon': '0\r\nnonsense\r\n\r\n',
  'LF alone behind a trailer': '0\r\nX: y\n\r\n',
})) {
  test(`400: chunked: ${name}`, async (t) => {
    // the head is valid, so the endpoint may have answered before the body turns out to be invalid
    const answer = await statusOf(t, Buffer.concat([chunked(body), NEXT]));
    t.true([400, 405].includes(answer.status), String(answer.status));
    t.is(await answer.connection.closed(), '', 'nothing of it is taken for another request');
  });
}
refuses('a transfer coding that is not known', 501, post(['Transfer-Encoding: gzip'], 'hello'));
refuses('a transfer coding below chunked', 501, post(['Transfer-Encoding: gzip, chunked'], '0\r\n\r\n'));
refuses('chunked and something after it', 501, post(['Transfer-Encoding: chunked, identity'], '0\r\n\r\n'));
refuses('chunked twice', 400, post(['Transfer-Encoding: chunked, chunked'], '0\r\n\r\n'));
refuses('chunked in two headers', 400, post(['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'], '0\r\n\r\n'));
refuses('an empty transfer coding', 400, post(['Transfer-Encoding:'], '0\r\n\r\n'));
refuses('chunked in HTTP/1.0', 400, request('POST / HTTP/1.0', ['Transfer-Encoding: chunked'], { body: '0\r\n\r\n' }));

// smuggling: one reader's body is another reader's request
const HIDDEN = 'GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n';
refuses('length and chunked', 400, post(['Content-Length: 4', 'Transfer-Encoding: chunked'], `0\r\n\r\n${HIDDEN}`));
refuses('chunked and length', 400, post(['Transfer-Encoding: chunked', 'Content-Length: 50'], `0\r\n\r\n${HIDDEN}`));
refuses('chunked behind a tab', 400, post(['Content-Length: 4', 'Transfer-Encoding:\tchunked'], `0\r\n\r\n${HIDDEN}`));
refuses('chunked behind a vertical tab', 400, post(['Transfer-Encoding: \x0bchunked'], `0\r\n\r\n${HIDDEN}`));
refuses('a blank behind Transfer-Encoding', 400, post(['Transfer-Encoding : chunked'], `0\r\n\r\n${HIDDEN}`));
refuses('a coding that only ends like chunked', 501, post(['Transfer-Encoding: xchunked'], `0\r\n\r\n${HIDDEN}`));
refuses('a length in a folded line', 400, post(['X: y', ' Content-Length: 5'], HIDDEN));
refuses('a length behind NUL', 400, post(['Content-Length: 0\x005'], HIDDEN));
refuses('a length behind a CR', 400, post(['X: y\rContent-Length: 33'], HIDDEN));

test('a refusal is HTML for those who ask for it, and has no body for HEAD', async (t) => {
  const html = await statusOf(t, request('BREW / HTTP/1.1', ['Accept: text/html,*/*;q=0.8']));
  t.is(html.headers['content-type'], 'text/html; charset=utf-8');
  t.regex(html.body, /GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH, TRACE, CONNECT/);
  const page = await statusOf(t, get('Accept: text/html', 'nonsense'));
  t.is(page.headers['content-type'], 'text/html; charset=utf-8');
  t.regex(page.body, /^<!doctype html>.*<h1>400 Bad Request<\/h1>/s);
  const head = await statusOf(t, request('HEAD / HTTP/1.1', ['nonsense']));
  t.is(head.status, 400);
  t.is(await head.connection.closed(), '');
});

test('a refusal repeats nothing of the request', async (t) => {
  const answer = await statusOf(t, get('Accept: text/html', '<script>alert(1)</script>'));
  t.is(answer.status, 400);
  t.notRegex(answer.body, /script/);
});

test('HEAD has the headers of GET and no body; an answer has a date', async (t) => {
  const connection = talk(t, server.addresses[0]).write(Buffer.concat([request('HEAD / HTTP/1.1'), NEXT]));
  const head = await connection.answer({ head: true });
  t.is(head.status, 405);
  t.true(Number(head.headers['content-length']) > 0);
  t.regex(head.headers.date, /GMT$/);
  t.is((await connection.answer()).status, 426, 'no body came in between');
});

test('complete requests before a refused one are answered, in order', async (t) => {
  const bytes = [
    NEXT,
    request('PUT / HTTP/1.1', ['Content-Length: 2'], { body: 'hi' }),
    Buffer.from('GET / HTTP/1.1\n\n'),
  ];
  const connection = talk(t, server.addresses[0]).write(Buffer.concat(bytes));
  t.is((await connection.answer()).status, 426);
  t.is((await connection.answer()).status, 405);
  t.is((await connection.answer()).status, 400);
  t.is(await connection.closed(), '');
});

test('requests sent byte by byte get the same answers', async (t) => {
  const bytes = Buffer.concat([
    NEXT,
    request('POST / HTTP/1.1', ['Transfer-Encoding: chunked'], { body: '2\r\nhi\r\n0\r\n\r\n' }),
  ]);
  const connection = talk(t, server.addresses[0]);
  for (const byte of bytes) connection.write(Buffer.from([byte]));
  t.is((await connection.answer()).status, 426);
  t.is((await connection.answer()).status, 405);
});
