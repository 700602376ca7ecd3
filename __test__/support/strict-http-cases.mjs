// The answers of the strict HTTP example to 89 single requests, in groups: the bytes of the request, and the status.

const crlf = (...lines) => `${lines.join('\r\n')}\r\n\r\n`;
const HOST = 'Host: localhost';

/** A request with these headers and this body. */
const request = (line, headers = [], body = '') => crlf(line, HOST, 'Connection: close', ...headers) + body;
const get = (target, headers) => request(`GET ${target} HTTP/1.1`, headers);
const post = (body, ...headers) =>
  request('POST /api/echo HTTP/1.1', [`Content-Length: ${Buffer.byteLength(body)}`, ...headers], body);
const json = (body) => post(body, 'Content-Type: application/json');
const form = (body) => post(body, 'Content-Type: application/x-www-form-urlencoded');
const chunked = (body, ...headers) =>
  request('POST /api/echo HTTP/1.1', ['Transfer-Encoding: chunked', ...headers], body);

export const CASES = {
  methods: [
    ['GET', get('/'), 200],
    ['POST', request('POST / HTTP/1.1', ['Content-Length: 0']), 200],
    ['OPTIONS', request('OPTIONS / HTTP/1.1'), 200],
    ['an odd token in the list', request('QjS+SpEc1aL-Valid%Method / HTTP/1.1'), 200],
    ['a token that is not in the list', request('BREW / HTTP/1.1'), 501],
    ['in lower case', request('get / HTTP/1.1'), 501],
    ['no token', request('G@T / HTTP/1.1'), 400],
    ['none', request(' / HTTP/1.1'), 400],
  ],
  targets: [
    ['every kind of character', get("/api/echo?a=-._~:/?[]@!$&'()*+,;=%20"), 200],
    ['a blank', get('/a b'), 400],
    ['angle brackets', get('/<a>'), 400],
    ['no ASCII', get('/\u00e9'), 400],
    ['10,000 characters', get(`/${'a'.repeat(10_000)}`), 414],
  ],
  versions: [
    ['1.0', crlf('GET / HTTP/1.0'), 200],
    ['1.1', get('/'), 200],
    ['2.0', request('GET / HTTP/2.0'), 200],
    ['9.9', request('GET / HTTP/9.9'), 501],
    ['two digits', request('GET / HTTP/1.10'), 400],
    ['in lower case', request('GET / http/1.1'), 400],
    ['none', request('GET /'), 400],
  ],
  headers: [
    ['an empty value', get('/', ['X-Empty:']), 200],
    ['white space around the value', get('/', ['X-Blank: \t value \t ']), 200],
    ['a backtick in the name', get('/', ['X`Tick: 1']), 200],
    ['no colon', get('/', ['X-None']), 400],
    ['a blank before the colon', get('/', ['X-Blank : 1']), 400],
    ['a folded line', get('/', ['X-Fold: 1', ' 2']), 400],
    ['no name', get('/', [': 1']), 400],
  ],
  bodies: [
    ['of a length', post('hello'), 200],
    ['of no length', request('POST /api/echo HTTP/1.1'), 200],
    ['of GET', request('GET /api/echo HTTP/1.1', ['Content-Length: 2'], 'ab'), 200],
    ['of bytes', post('\u20ac\u20ac'), 200],
    ['a length twice, the same', post('hello', 'Content-Length: 5'), 200],
    ['lengths that differ', post('hello', 'Content-Length: 6'), 400],
    ['a negative length', request('POST / HTTP/1.1', ['Content-Length: -1']), 400],
    ['a length that is no number', request('POST / HTTP/1.1', ['Content-Length: 5x']), 400],
    ['too long', request('POST / HTTP/1.1', ['Content-Length: 1048577']), 413],
  ],
  chunked: [
    ['one chunk', chunked('5\r\nhello\r\n0\r\n\r\n'), 200],
    ['several', chunked('3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n'), 200],
    ['none', chunked('0\r\n\r\n'), 200],
    ['sizes in both cases', chunked('a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n'), 200],
    ['an extension', chunked('5;name="value"\r\nhello\r\n0;last\r\n\r\n'), 200],
    ['trailers', chunked('5\r\nhello\r\n0\r\nX-Sum: 1\r\nX-End: 2\r\n\r\n'), 200],
    ['a length beside, which does not count', chunked('5\r\nhello\r\n0\r\n\r\n', 'Content-Length: 3'), 200],
    ['a size that is no number', chunked('5g\r\nhello\r\n0\r\n\r\n'), 400],
    ['a blank before the size', chunked(' 5\r\nhello\r\n0\r\n\r\n'), 400],
    ['a chunk that is longer than its size', chunked('4\r\nhello\r\n0\r\n\r\n'), 400],
    ['another coding', request('POST / HTTP/1.1', ['Transfer-Encoding: gzip'], 'x'), 501],
  ],
  host: [
    ['missing', crlf('GET / HTTP/1.1'), 400],
    ['empty', crlf('GET / HTTP/1.1', 'Host:'), 400],
    ['missing in 1.0', crlf('GET / HTTP/1.0', 'Accept: */*'), 200],
    ['in lower case', crlf('GET / HTTP/1.1', 'host: localhost', 'Connection: close'), 200],
    ['twice', crlf('GET / HTTP/1.1', HOST, HOST), 400],
  ],
  routes: [
    ['/about', get('/about'), 200],
    ['/status', get('/status'), 200],
    ['/api/echo', get('/api/echo'), 200],
    ['none', get('/none'), 404],
  ],
  'without body': [
    ['HEAD', request('HEAD / HTTP/1.1'), 200],
    ['DELETE', request('DELETE / HTTP/1.1'), 200],
  ],
  query: [
    ['a pair', get('/api/echo?a=1'), 200],
    ['two pairs', get('/api/echo?a=1&b=2'), 200],
    ['no value', get('/api/echo?a&b='), 200],
    ['an escape', get('/api/echo?a=%20%E2%82%AC'), 200],
    ['an equals sign in the value', get('/api/echo?a=b=c'), 200],
    ['an invalid escape', get('/api/echo?a=%zz'), 400],
    ['half an escape', get('/api/echo?a=%2'), 400],
  ],
  json: [
    ['an object', json('{"a":1}'), 200],
    ['an array', json('[1,2]'), 200],
    ['a falsy value', json('0'), 200],
    ['nothing', json(''), 200],
    ['with a charset', post('{}', 'Content-Type: application/json; charset=utf-8'), 200],
    ['cut off', json('{"a":'), 400],
    ['no JSON', json("{'a':1}"), 400],
    ['something behind it', json('{} {}'), 400],
  ],
  forms: [
    ['a pair', form('a=1'), 200],
    ['several', form('a=1&b=2&a=3'), 200],
    ['blanks', form('a=b+c%20d'), 200],
    ['no value', form('a'), 200],
    ['nothing', form(''), 200],
    ['an invalid escape', form('a=%'), 400],
    ['an escape that is no UTF-8', form('a=%ff'), 400],
  ],
  files: [
    ['a file', get('/hello.txt'), 200],
    ['in a folder', get('/docs/info.json'), 200],
    ['an escape in its path', get('/%68ello.txt'), 200],
    ['a folder', get('/docs'), 404],
    ['none', get('/missing.txt'), 404],
    ['outside', get('/../server.mjs'), 404],
    ['outside, escaped', get('/docs/..%2f..%2f..%2fserver.mjs'), 404],
  ],
  'keep-alive': [
    ['kept', crlf('GET / HTTP/1.1', HOST, 'Connection: keep-alive'), 200],
    ['not kept', crlf('GET / HTTP/1.1', HOST, 'Connection: TE, Close'), 200],
  ],
};
