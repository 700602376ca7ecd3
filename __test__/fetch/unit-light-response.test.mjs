// The `Response` of a worker thread on Node.js behaves like the platform's, whatever its arguments.
import { inspect } from 'node:util';
import test from 'ava';

import light from '../../js/dist/worker/fetch/light-response.js';

const Platform = globalThis.Response;
light.installLightResponse();
const { wholeOf } = light;

const bytes = (text) => new TextEncoder().encode(text);

/** Arguments of `new Response`, by what is special about them. */
const MADE = {
  nothing: [],
  'null and no options': [null],
  text: ['hello'],
  'empty text': [''],
  'text beyond ASCII': ['grüße ✓'],
  'half a character': ['a\ud800b'],
  bytes: [bytes('bytes')],
  'a Node.js buffer': [Buffer.from('buffer')],
  'an ArrayBuffer': [bytes('buffer').buffer],
  'a number': [5],
  'URL parameters': [new URLSearchParams({ a: '1' })],
  'a status': ['x', { status: 418 }],
  'a status as text': ['x', { status: '404' }],
  'a status too low': ['x', { status: 199 }],
  'a status too high': ['x', { status: 600 }],
  'a status that is no number': ['x', { status: {} }],
  'a reason': ['x', { status: 404, statusText: 'Nope' }],
  'a reason with a line break': ['x', { statusText: 'a\nb' }],
  '204 without a body': [null, { status: 204 }],
  '204 with a body': ['x', { status: 204 }],
  '304 with an empty body': ['', { status: 304 }],
  'no options': ['x', undefined],
  'null for options': ['x', null],
  'options that are text': ['x', 'y'],
  'an object of headers': ['x', { headers: { 'X-One': '1', 'x-two': 'zwei ü' } }],
  'a type of its own': ['x', { headers: { 'Content-Type': 'text/html' } }],
  'white space around a value': ['x', { headers: { 'x-one': ' 1\t' } }],
  'an empty value': ['x', { headers: { 'x-one': '' } }],
  'a value that is a number': ['x', { headers: { 'x-one': 1 } }],
  'a value with a line break': ['x', { headers: { 'x-one': 'a\r\nb: c' } }],
  'a value with a NUL': ['x', { headers: { 'x-one': 'a\0b' } }],
  'a value beyond Latin-1': ['x', { headers: { 'x-one': '✓' } }],
  'an invalid name': ['x', { headers: { 'x one': '1' } }],
  'an empty name': ['x', { headers: { '': '1' } }],
  'pairs of headers': [
    'x',
    {
      headers: [
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
      ],
    },
  ],
  'Headers with two cookies': [
    'x',
    {
      headers: new Headers([
        ['Set-Cookie', 'a=1'],
        ['set-cookie', 'b=2'],
        ['x-a', '1'],
        ['x-a', '2'],
      ]),
    },
  ],
  'another answer for options': ['x', new Platform('y', { status: 201, headers: { 'x-a': '1' } })],
  'headers that are null': ['x', { headers: null }],
  'headers of a class': [
    'x',
    {
      headers: new (class {
        'x-a' = '1';
      })(),
    },
  ],
};

function outcome(make) {
  try {
    return { made: make() };
  } catch (error) {
    return { error: error.name };
  }
}

async function told(response) {
  const { status, ok, statusText, type, url, redirected, bodyUsed } = response;
  const headers = [...response.headers];
  const hasBody = response.body !== null;
  const text = await response.text();
  return { status, ok, statusText, type, url, redirected, bodyUsed, headers, hasBody, text, used: response.bodyUsed };
}

const sorted = (list) => {
  const pairs = [];
  for (let at = 0; at < list.length; at += 2) pairs.push([list[at], list[at + 1]]);
  return pairs.sort(([one], [other]) => (one < other ? -1 : Number(one > other)));
};

for (const [what, args] of Object.entries(MADE)) {
  test(`made of ${what}`, async (t) => {
    const platform = outcome(() => new Platform(...args));
    const mine = outcome(() => new Response(...args));
    t.is(mine.error, platform.error);
    if (platform.made === undefined) return;
    const expected = await told(platform.made);
    t.deepEqual(await told(mine.made), expected);
    const whole = wholeOf(new Response(...args));
    if (whole === undefined) return;
    t.is(whole.status, expected.status);
    t.deepEqual(sorted(whole.headers), expected.headers);
    t.is(Buffer.from(whole.body ?? '').toString(), expected.text);
  });
}

test('simple answers are sent without the platform, all others with it', (t) => {
  t.deepEqual(wholeOf(new Response('hello')), {
    status: 200,
    headers: ['content-type', 'text/plain;charset=UTF-8'],
    body: 'hello',
  });
  t.deepEqual(wholeOf(Response.json({ a: 1 })), {
    status: 200,
    headers: ['content-type', 'application/json'],
    body: '{"a":1}',
  });
  t.is(wholeOf(new Response(new ReadableStream())), undefined);
  t.is(wholeOf(new Response('x', { statusText: 'Fine' })), undefined);
  t.is(wholeOf(new Platform('x')), undefined);
});

test('an inspected response is the platform’s', async (t) => {
  const response = new Response('hello', { headers: { 'x-a': '1' } });
  response.headers.append('x-a', '2');
  t.is(wholeOf(response), undefined);
  t.is(response.headers.get('x-a'), '1, 2');
  t.is(await response.clone().text(), 'hello');
  t.is(await response.text(), 'hello');
  await t.throwsAsync(response.text(), { instanceOf: TypeError });
});

test('an answer is sent once', async (t) => {
  const response = new Response('hello');
  wholeOf(response);
  t.true(response.bodyUsed);
  t.is(response.status, 200);
  t.throws(() => wholeOf(response), { instanceOf: TypeError, message: /sent already/ });
  await t.throwsAsync(response.text(), { instanceOf: TypeError });
  t.throws(() => response.clone(), { instanceOf: TypeError });
  const empty = new Response(null, { status: 204 });
  t.deepEqual(wholeOf(empty), wholeOf(empty));
});

test('bytes are those at the time', async (t) => {
  const given = bytes('abc');
  const response = new Response(given);
  given[0] = 120;
  t.is(await response.text(), 'abc');
});

test('it is a Response, and so are the platform’s', (t) => {
  t.true(new Response('x') instanceof Response);
  t.true(new Response('x') instanceof Platform);
  t.true(new Platform('x') instanceof Response);
  t.true(Response.error() instanceof Response);
  t.is(Response.redirect('http://a.example/').status, 302);
  t.false({} instanceof Response);
  t.is(Response.name, 'Response');
  t.is(Object.prototype.toString.call(new Response('x')), '[object Response]');
  t.is(new Response('x').constructor, Response);
  t.regex(inspect(new Response('x', { status: 404 })), /Response \{\s+status: 404/);
  class Mine extends Response {}
  t.true(new Mine('x') instanceof Mine);
  t.false(new Response('x') instanceof Mine);
  t.is(wholeOf(new Mine('x')).body, 'x');
});

test('Response.json is the platform’s', async (t) => {
  for (const args of [
    [{ a: 1 }],
    [null],
    [1, { status: 201, headers: { 'content-type': 'application/problem+json' } }],
  ]) {
    t.deepEqual(await told(Response.json(...args)), await told(Platform.json(...args)));
  }
  t.throws(() => Response.json(undefined), { instanceOf: TypeError });
  t.throws(() => Response.json(1, { status: 204 }), { instanceOf: TypeError });
});

test('it can be replaced, as other globals can', (t) => {
  const mine = globalThis.Response;
  globalThis.Response = Platform;
  t.is(Response, Platform);
  globalThis.Response = mine;
});
