// The authentication example: who may connect, who may do what, and for how long.
import test from 'ava';
import { decodeJwt, SignJWT } from 'jose';

import { until } from '../support/deadline.mjs';
import { browserTests, Example, ended, launchBrowser } from '../support/example.mjs';
import { handshake } from '../support/http.mjs';
import { connect } from '../support/ws-client.mjs';

const SECRET = 'the secret of this test, which is long enough';
const SCRIPT = 'examples/auth/server.mjs';
const inBrowser = browserTests(test);
let board;

test.before(async () => {
  board = await Example.start(SCRIPT, ['--port', '0'], { AUTH_SECRET: SECRET });
});
test.after.always(() => board?.kill());

const JSON_TYPE = { 'content-type': 'application/json' };
const ANNA = { user: 'anna', password: 'water' };
const BEN = { user: 'ben', password: 'wheel' };

/** A request on a connection of its own: one that is kept may be closed while it is used again. */
const ask = (path, method = 'GET', headers = {}, body = undefined, example = board) =>
  fetch(`${example.url}${path}`, { method, headers: { connection: 'close', ...headers }, body });
const post = (path, value, example = board) => ask(path, 'POST', JSON_TYPE, JSON.stringify(value), example);
const tokenOf = async (who, example = board) => (await (await post('/token', who, example)).json()).token;
const bearer = (token) => ({ Authorization: `Bearer ${token}` });
const open = (t, headers, example = board) => connect(t, example.address, { path: '/socket', headers });
const refusal = (headers) => handshake(board.address, { path: '/socket', headers });
const closedWith = (client) => until(() => client.closeFrame, 'a close frame');

/** As `sessions.mjs` signs it, but for what is given. */
function forge(claims, { secret = SECRET, alg = 'HS256' } = {}) {
  return new SignJWT(claims).setProtectedHeader({ alg }).sign(new TextEncoder().encode(secret));
}

test('a password gives a session in a cookie that scripts and other sites do not get', async (t) => {
  for (const body of [
    JSON.stringify({ user: 'anna', password: 'wheel' }),
    JSON.stringify({ user: 'nobody', password: '' }),
    JSON.stringify({ user: '__proto__', password: 'water' }),
    'null',
    '[]',
  ]) {
    const answer = await ask('/sign-in', 'POST', JSON_TYPE, body);
    t.is(answer.status, 401, body);
    t.is(answer.headers.get('set-cookie'), null);
  }
  t.is((await ask('/sign-in', 'POST', JSON_TYPE, '{"user":')).status, 400);
  t.is((await ask('/sign-in', 'POST', JSON_TYPE, 'x'.repeat(5000))).status, 413);
  // a form of another site's page can send this without asking
  t.is((await ask('/sign-in', 'POST', { 'content-type': 'text/plain' }, JSON.stringify(ANNA))).status, 401);

  const answer = await post('/sign-in', ANNA);
  t.is(answer.status, 200);
  t.regex(answer.headers.get('cache-control'), /no-store/);
  const [cookie, ...attributes] = answer.headers.get('set-cookie').split('; ');
  for (const attribute of ['HttpOnly', 'Secure', 'SameSite=Strict', 'Path=/', 'Max-Age=3600']) {
    t.true(attributes.includes(attribute), attribute);
  }
  const said = await answer.text();
  t.deepEqual(JSON.parse(said), { user: 'anna', roles: ['reader', 'writer'] });
  const headers = { Cookie: `theme=dark; ${cookie}` };
  t.deepEqual(await (await ask('/me', 'GET', headers)).json(), JSON.parse(said));
  const anna = await open(t, headers);
  anna.send('');
  t.deepEqual(await anna.json(), { error: 'a notice needs a text' });
});

test('a program gets its session as a token, and shows it in a header', async (t) => {
  t.is((await post('/token', { ...ANNA, password: 'wheel' })).status, 401);
  const token = await tokenOf(BEN);
  t.like(decodeJwt(token), { sub: 'ben', iss: 'millrace-board', roles: ['reader'] });
  t.deepEqual(await (await ask('/me', 'GET', bearer(token))).json(), { user: 'ben', roles: ['reader'] });
  const ben = await open(t, bearer(token));
  ben.send('May I?');
  t.deepEqual(await ben.json(), { error: 'only writers may post' });
});

test('who has no session, or a forged one, is refused before the upgrade', async (t) => {
  const token = await tokenOf(ANNA);
  const claims = decodeJwt(token);
  const [head, body] = token.split('.');
  const none = Buffer.from('{"alg":"none"}').toString('base64url');
  const unsigned = `${none}.${body}.`;
  const bad = {
    'no token': undefined,
    'no JWT': 'hello',
    'no signature': `${head}.${body}.`,
    'the algorithm none': unsigned,
    'another secret': await forge(claims, { secret: 'another secret, which is long enough, too' }),
    'another algorithm': await forge(claims, { alg: 'HS512' }),
    'another issuer': await forge({ ...claims, iss: 'somebody' }),
    'a session that is not open': await forge({ ...claims, sid: 'x' }),
    'a user without a session': await forge({ ...claims, sub: 'nobody' }),
    'no end': await forge({ ...claims, exp: undefined }),
    'an end in the past': await forge({ ...claims, exp: Math.floor(Date.now() / 1000) - 1 }),
  };
  for (const [what, shown] of Object.entries(bad)) {
    const headers = shown === undefined ? {} : bearer(shown);
    const answer = await refusal(headers);
    t.is(answer.status, 401, what);
    t.is(answer.headers['www-authenticate'], 'Bearer');
    t.is((await ask('/me', 'GET', headers)).status, 401, what);
  }
  t.is((await refusal(bearer(await forge(claims)))).status, 101);
});

test("another site's page is refused although the browser sends the cookie along", async (t) => {
  const headers = { Host: board.address, Cookie: `session=${await tokenOf(ANNA)}` };
  t.is((await refusal({ ...headers, Origin: 'http://evil.example' })).status, 403);
  t.is((await refusal({ ...headers, Origin: board.url })).status, 101);
});

// Serial, as the page's test is: there is one board, and signing out ends all sessions of a user.
test.serial('what a writer posts reaches all who are signed in', async (t) => {
  const [anna, ben] = [await open(t, bearer(await tokenOf(ANNA))), await open(t, bearer(await tokenOf(BEN)))];
  anna.send(' first ');
  for (const client of [anna, ben]) t.deepEqual(await client.json(), { user: 'anna', notice: 'first' });
});

test.serial('signing out closes the sockets of the user on all workers, and ends the sessions', async (t) => {
  const tokens = [await tokenOf(ANNA), await tokenOf(ANNA)];
  const sockets = [];
  // more than there are workers
  for (let index = 0; index < 9; index += 1) sockets.push(await open(t, bearer(tokens[index % 2])));
  const ben = await open(t, bearer(await tokenOf(BEN)));
  t.is((await ask('/sign-out', 'POST')).status, 204);
  t.is((await refusal(bearer(tokens[0]))).status, 101, 'nobody was signed out by a request without a session');
  const answer = await ask('/sign-out', 'POST', { Cookie: `session=${tokens[0]}` });
  t.is(answer.status, 204);
  t.regex(answer.headers.get('set-cookie'), /^session=;.*Expires=Thu, 01 Jan 1970/);
  for (const socket of sockets) t.deepEqual(await closedWith(socket), { code: 4401, reason: 'signed out' });
  for (const token of tokens) t.is((await refusal(bearer(token))).status, 401);
  const anna = await open(t, bearer(await tokenOf(ANNA)));
  anna.send('back again');
  t.like(await ben.json(), { notice: 'back again' });
});

test('a socket ends with its session', async (t) => {
  const hasty = await Example.start(SCRIPT, ['--port', '0', '--session', '2'], { AUTH_SECRET: SECRET });
  t.teardown(() => hasty.kill());
  // a busy machine may let a session expire before it is shown
  const anna = await until(async () => {
    const token = await tokenOf(ANNA, hasty);
    return open(t, bearer(token), hasty).catch((error) => {
      if (error.status !== 401) throw error;
    });
  }, 'a connection');
  t.deepEqual(await closedWith(anna), { code: 4401, reason: 'session expired' });
  t.is(await hasty.end(), ended());
});

test('a secret that can be guessed is refused', async (t) => {
  await t.throwsAsync(Example.start(SCRIPT, ['--port', '0'], { AUTH_SECRET: 'short' }), { message: /32 characters/ });
});

inBrowser('the page signs in and out', async (t) => {
  const browser = await launchBrowser();
  t.teardown(() => browser.close());
  const page = await (await browser.newContext()).newPage();
  const status = (text) => page.getByRole('status').filter({ hasText: text }).waitFor();
  const problem = (text) => page.getByRole('alert').filter({ hasText: text }).waitFor();
  await page.goto(board.url);
  await status('Not signed in');
  await page.getByLabel('Password').fill('wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await problem('wrong name or password');
  await page.getByLabel('Password').fill('water');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await status('anna · reader, writer');
  t.is(await page.evaluate(() => document.cookie), '');
  await page.getByRole('textbox', { name: 'Notice' }).fill('<b>Closed on Monday</b>');
  await page.keyboard.press('Enter');
  await page.getByRole('log').getByText('<b>Closed on Monday</b>').waitFor();
  t.deepEqual(await page.getByRole('log').locator('li').allTextContents(), ['anna <b>Closed on Monday</b>']);
  await page.reload();
  await status('anna · reader, writer');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await problem('signed out');
  await status('Not signed in');
  await page.getByLabel('Name').fill('ben');
  await page.getByLabel('Password').fill('wheel');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await status('ben · reader');
  await page.getByRole('textbox', { name: 'Notice' }).fill('May I?');
  await page.keyboard.press('Enter');
  await problem('only writers may post');
});
