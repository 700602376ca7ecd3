// The cookies that an app sends. Without a network; the cookies that it reads are in unit-request.test.mjs.
import test from 'ava';
import { ask } from '../support/exchange.mjs';
import { createApp } from '../support/http-app.mjs';

/** The answer of an app whose only handler is this one. */
function answerTo(handler) {
  return ask(createApp().all('*', handler), 'GET', '/');
}

test('cookies: each a line of its own, for every path unless one is named', async (t) => {
  const expires = new Date(Date.UTC(2030, 0, 2, 3, 4, 5));
  const { headers } = await answerTo((_req, res) => {
    res.cookie('plain', 'a b;\u20ac');
    res.cookie('all', 1, {
      sameSite: 'Lax',
      httpOnly: true,
      secure: true,
      domain: 'example.org',
      expires,
      path: '/a',
      partitioned: true,
      priority: 'high',
    });
    res.cookie('none', 'x', { secure: false, path: '', sameSite: false });
    res.cookie('object', { a: [1] });
    res.cookie('encoded', 'a b', { encode: (value) => value.replaceAll(' ', '_') });
    res.clearCookie('old', { maxAge: 5 });
    res.clearCookie('older', { path: '/a', domain: 'example.org' }).end();
  });
  t.deepEqual(headers['set-cookie'], [
    'plain=a%20b%3B%E2%82%AC; Path=/',
    'all=1; Domain=example.org; Path=/a; Expires=Wed, 02 Jan 2030 03:04:05 GMT; HttpOnly; Secure; Partitioned; Priority=High; SameSite=Lax',
    'none=x',
    'object=j%3A%7B%22a%22%3A%5B1%5D%7D; Path=/',
    'encoded=a_b; Path=/',
    'old=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT',
    'older=; Domain=example.org; Path=/a; Expires=Thu, 01 Jan 1970 00:00:00 GMT',
  ]);
});

test("a cookie's maxAge is in milliseconds, and sent as Max-Age and Expires", async (t) => {
  for (const [maxAge, seconds] of [
    [60_000, 60],
    [1999, 1],
    [0, 0],
    [-5000, -5],
  ]) {
    const before = Date.now();
    const { headers } = await answerTo((_req, res) => res.cookie('a', 'b', { maxAge, expires: new Date(0) }).end());
    const [, sent, date] = /^a=b; Max-Age=(-?\d+); Path=\/; Expires=(.+)$/.exec(headers['set-cookie'][0]) ?? [];
    t.is(sent, String(seconds));
    const late = Date.parse(date) - before - maxAge;
    t.true(late > -1000 && late < 60_000, `${maxAge} ms: ${date}`);
  }
});
