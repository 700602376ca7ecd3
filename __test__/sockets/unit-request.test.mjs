// parse_http_request of millrace/sockets.
import test from 'ava';

import { parse_http_request } from '../support/millrace-sockets.mjs';

const parse = (...lines) => parse_http_request(lines.join('\r\n'));

test('a request is parsed', (t) => {
  const body = '{"a": 1}';
  const expected = {
    method: 'POST',
    httpVersion: 'HTTP/1.1',
    url: '/a%20b/c?x=1&y=2',
    path: '/a%20b/c',
    query: { x: '1', y: '2' },
    headers: { host: 'example.org', 'content-type': 'application/json', 'content-length': '8' },
    body,
  };
  const lines = [
    'POST /a%20b/c?x=1&y=2 HTTP/1.1',
    'Host:  example.org',
    'Content-Type:application/json',
    'CONTENT-LENGTH: 8',
    '',
    body,
  ];
  t.deepEqual(parse(...lines), expected);
  t.deepEqual(parse_http_request(lines.join('\n')), expected);
  t.deepEqual(parse_http_request(Buffer.from(lines.join('\n'))), expected);
});

test('queries', (t) => {
  const query = (text) => parse(`GET /?${text} HTTP/1.0`, '', '').query;
  t.deepEqual(query('a=1&a=2&b'), { a: '2', b: '' });
  t.deepEqual(query('a+b=c+d%21&%C3%BC=%zz&&=x'), { 'a b': 'c d!', ü: '%zz', '': 'x' });
  t.deepEqual(
    query('a=b=c&__proto__=x'),
    Object.fromEntries([
      ['a', 'b=c'],
      ['__proto__', 'x'],
    ]),
  );
  t.deepEqual(query(''), {});
  const long = 'n'.repeat(5000);
  t.deepEqual(query(`${long}=${long}`), { [long]: long });
  const { url, path } = parse('GET /a?b?c HTTP/1.1', '', '');
  t.deepEqual([url, path], ['/a?b?c', '/a']);
});

test('repeated headers are joined', (t) => {
  const { headers } = parse(
    'GET / HTTP/1.1',
    'A: 1',
    'cookie: a=1',
    'a: 2',
    'Cookie: b=2',
    '__proto__: x',
    'Empty:',
    '',
    '',
  );
  t.deepEqual(Object.entries(headers), [
    ['a', '1, 2'],
    ['cookie', 'a=1; b=2'],
    ['__proto__', 'x'],
    ['empty', ''],
  ]);
});

test('a body has the bytes that its length says, or those that are there', (t) => {
  const body = (length, text) => parse('POST / HTTP/1.1', `Content-Length: ${length}`, '', text).body;
  t.is(body(6, 'grün ist es'), 'grün ');
  t.is(body(100, 'short'), 'short');
  t.is(body(0, 'nothing'), '');
  t.is(parse('POST / HTTP/1.1', '', 'no length').body, '');
  t.is(body('3, 3', 'four'), 'fou');
});

test('an invalid request is an error', (t) => {
  const empty = t.throws(() => parse_http_request(''), { name: 'InternalError', message: 'Empty request data' });
  t.is(empty.syscall, 'parse_http_request');
  for (const lines of [
    ['GET'],
    ['GET /'],
    ['GET / HTTP/1.1', 'Host: x'],
    ['GET / HTTP/1.1', 'no colon', '', ''],
    ['GET / HTTP/1.1', 'A: b', ' folded', '', ''],
    ['GET / HTTP/1.1', 'A : b', '', ''],
    ['GET / HTTP/3.7', '', ''],
    ['GET / HTTP/1.1', 'Content-Length: x', '', ''],
    ['GET / HTTP/1.1', 'Content-Length: -1', '', ''],
    ['GET / HTTP/1.1', 'Content-Length: 1', 'Content-Length: 2', '', 'ab'],
    ['GET /a b HTTP/1.1', '', ''],
    ['\0'],
  ]) {
    t.throws(() => parse(...lines), { name: 'InternalError', message: 'Invalid HTTP request' }, lines.join('|'));
  }
  for (const data of [undefined, null, 1, {}, []]) {
    t.throws(() => parse_http_request(data), { instanceOf: TypeError, message: /'data'/ });
  }
});

test('any bytes are either a request or an error', (t) => {
  const text = 'POST /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc';
  let requests = 0;
  for (let at = 0; at < text.length; at++) {
    for (const byte of [0, 10, 13, 32, 58, 128, 255]) {
      const bytes = Buffer.from(text);
      bytes[at] = byte;
      try {
        requests += typeof parse_http_request(bytes).body === 'string' ? 1 : 0;
      } catch (error) {
        t.is(error.message, 'Invalid HTTP request');
      }
    }
  }
  t.true(requests > 0);
});
