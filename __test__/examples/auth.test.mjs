// The authentication example: who may connect, who may do what, and for how long.
import test from 'ava';
import { issue, verify } from '../../examples/auth/tokens.mjs';
import { again, until } from '../support/deadline.mjs';
import { browserTests, Example, ended, launchBrowser } from '../support/example.mjs';
import { handshake } from '../support/http.mjs';
import { connect } from '../support/ws-client.mjs';

const SECRET = 'the secret of this test';
const inBrowser = browserTests(test);
let board;

test.before(async () => {
  board = await Example.start('examples/auth/server.mjs', ['--port', '0'], { AUTH_SECRET: SECRET });
});
test.after.always(() => board?.kill());

const HOUR = 3_600_000;
const tokenFor = (user, roles, ms = HOUR, secret = SECRET) => issue({ user, roles, expires: Date.now() + ms }, secret);
const told = async (client) => JSON.parse(await client.text());
const tell = (client, message) => client.send(JSON.stringify(message));
const open = (t, headers, protocols) => connect(t, board.address, { path: '/socket', headers, protocols });

/** What the server answers instead of an upgrade. */
async function refusal(headers) {
  return handshake(board.address, { path: '/socket', headers });
}

test('a token cannot be made, changed or used late', (t) => {
  const claims = { user: 'anna', roles: ['writer'], expires: 2000 };
  const token = issue(claims, 'a');
  t.regex(token, /^[\w-]+\.[\w-]+$/);
  t.deepEqual(verify(token, 'a', 1999), claims);
  t.is(verify(token, 'a', 2000), undefined);
  t.is(verify(token, 'b', 1000), undefined);
  const [body, signature] = token.split('.');
  const forged = Buffer.from(JSON.stringify({ ...claims, user: 'ben' })).toString('base64url');
  for (const bad of [
    `${forged}.${signature}`,
    body,
    `${body}.`,
    `.${signature}`,
    `${token}.x`,
    '',
    '.',
    undefined,
    7,
    {},
  ]) {
    t.is(verify(bad, 'a', 1000), undefined, String(bad));
  }
});

for (const [where, headersOf, protocolsOf] of [
  ['a header', (token) => ({ Authorization: `Bearer ${token}` }), () => undefined],
  ['a cookie', (token) => ({ Cookie: `theme=dark; session=${token}` }), () => undefined],
  ['a subprotocol', () => ({}), (token) => ['board', `token.${token}`]],
]) {
  test(`a token in ${where} is good before the first message`, async (t) => {
    const token = tokenFor('anna', ['reader', 'writer']);
    const anna = await open(t, headersOf(token), protocolsOf(token));
    t.is(anna.headers['sec-websocket-protocol'], protocolsOf(token)?.[0]);
    t.like(await told(anna), { type: 'you', user: 'anna', roles: ['reader', 'writer'] });
    tell(anna, { type: 'whoami' });
    t.like(await told(anna), { type: 'you', user: 'anna' });
  });
}

for (const [what, token] of [
  ['signed by someone else', tokenFor('anna', ['writer'], HOUR, 'another secret')],
  ['expired', tokenFor('anna', ['writer'], -1)],
  ['no token at all', 'hello'],
]) {
  test(`a token that is ${what} is refused with 401 before the upgrade`, async (t) => {
    const { status, headers, body } = await refusal({ Authorization: `Bearer ${token}` });
    t.is(status, 401);
    t.is(headers['www-authenticate'], 'Bearer');
    t.is(headers['content-type'], 'application/json');
    t.deepEqual(JSON.parse(body), { type: 'error', code: 'bad-token' });
  });
}

test("another site's page is refused although the browser sends the cookie along", async (t) => {
  const headers = { Host: board.address, Cookie: `session=${tokenFor('anna', ['writer'])}` };
  t.is((await refusal({ ...headers, Origin: 'http://evil.example' })).status, 403);
  t.is((await refusal({ ...headers, Origin: board.url })).status, 101);
});

test('a guest may do nothing but log in, with a message', async (t) => {
  const ben = await open(t);
  tell(ben, { type: 'post', text: 'hello' });
  t.like(await told(ben), { type: 'error', code: 'not-logged-in' });
  tell(ben, { type: 'login', token: tokenFor('ben', ['reader'], HOUR, 'another secret') });
  t.like(await told(ben), { type: 'error', code: 'bad-token' });
  // Sent in one go: the second message already has what the first attached.
  tell(ben, { type: 'login', token: tokenFor('ben', ['reader']) });
  tell(ben, { type: 'whoami' });
  t.like(await told(ben), { type: 'you', user: 'ben' });
  t.like(await told(ben), { type: 'you', user: 'ben', roles: ['reader'] });
});

// Serial, as the page's test is: there is one board, and the other tests listen to it too.
test.serial('roles decide about later messages, and logging out takes them away', async (t) => {
  const anna = await open(t, { Authorization: `Bearer ${tokenFor('anna', ['reader', 'writer'])}` });
  const ben = await open(t, { Authorization: `Bearer ${tokenFor('ben', ['reader'])}` });
  t.like(await told(anna), { type: 'you' });
  t.like(await told(ben), { type: 'you' });
  tell(ben, { type: 'post', text: 'may I?' });
  t.like(await told(ben), { type: 'error', code: 'forbidden' });
  // Logging in again does not make notices arrive twice.
  tell(ben, { type: 'login', token: tokenFor('ben', ['reader']) });
  t.like(await told(ben), { type: 'you' });
  tell(anna, { type: 'post', text: ' first ' });
  t.like(await told(anna), { type: 'posted', user: 'anna', text: 'first' });
  t.like(await told(ben), { type: 'posted', user: 'anna', text: 'first' });
  tell(ben, { type: 'logout' });
  t.like(await told(ben), { type: 'bye' });
  tell(anna, { type: 'post', text: 'second' });
  t.like(await told(anna), { text: 'second' });
  tell(ben, { type: 'whoami' });
  t.like(await told(ben), { type: 'error', code: 'not-logged-in' });
});

for (const text of ['', 'null', '[]', '{"type":7}', '{"type":"post","text":{}}', '{"type":"post","text":"  "}']) {
  test(`nonsense gets an error: ${text}`, async (t) => {
    const anna = await open(t, { Authorization: `Bearer ${tokenFor('anna', ['writer'])}` });
    t.like(await told(anna), { type: 'you' });
    anna.send(text);
    t.like(await told(anna), { type: 'error', code: 'bad-request' });
  });
}

test('a connection ends with its token, and a guest who never logs in is closed', async (t) => {
  const hasty = await Example.start('examples/auth/server.mjs', ['--port', '0', '--login', '0.1'], {
    AUTH_SECRET: SECRET,
  });
  t.teardown(() => hasty.kill());
  const ends = async (client, reason) => {
    await until(() => client.closeFrame, 'a close frame');
    t.deepEqual(client.closeFrame, { code: 4401, reason });
  };
  await ends(await connect(t, hasty.address), 'login timeout');
  // longer where a busy machine lets a token expire before it is shown
  let lasts = 150;
  const anna = await again(() => {
    lasts *= 2;
    return connect(t, hasty.address, { headers: { Authorization: `Bearer ${tokenFor('anna', ['reader'], lasts)}` } });
  }, 'a connection with a token');
  await ends(anna, 'token expired');
  t.is(await hasty.end(), ended());
});

test('a password gives a token, as a cookie that scripts cannot read and in the answer', async (t) => {
  const login = (body) => fetch(`${board.url}/login`, { method: 'POST', body });
  for (const body of [
    JSON.stringify({ user: 'anna', password: 'wheel' }),
    JSON.stringify({ user: 'nobody', password: '' }),
    'null',
    'x'.repeat(5000),
  ]) {
    const answer = await login(body);
    t.is(answer.status, 401);
    t.is(answer.headers.get('set-cookie'), null);
  }
  const answer = await login(JSON.stringify({ user: 'anna', password: 'water' }));
  t.is(answer.status, 200);
  const cookie = answer.headers.get('set-cookie');
  t.regex(cookie, /; HttpOnly; SameSite=Strict/);
  const { token } = await answer.json();
  t.true(cookie.startsWith(`session=${token};`));
  const anna = await open(t, { Cookie: cookie.split(';')[0] });
  t.like(await told(anna), { type: 'you', user: 'anna', roles: ['reader', 'writer'] });
});

inBrowser('the page logs in on its connection, or with a cookie on the next', async (t) => {
  const browser = await launchBrowser();
  t.teardown(() => browser.close());
  const page = await (await browser.newContext()).newPage();
  const status = (text) => page.getByRole('status').filter({ hasText: text }).waitFor();
  await page.goto(board.url);
  await status('Connected as a guest');
  await page.getByRole('button', { name: 'Log in on this connection' }).click();
  await status('anna · reader, writer');
  await page.getByRole('textbox', { name: 'Notice' }).fill('<b>Closed on Monday</b>');
  await page.keyboard.press('Enter');
  await page.getByRole('log').getByText('<b>Closed on Monday</b>').waitFor();
  t.deepEqual(await page.getByRole('log').locator('li').allTextContents(), ['anna <b>Closed on Monday</b>']);
  await page.getByRole('button', { name: 'Log out' }).click();
  await status('Connected as a guest');
  await page.getByLabel('Name').fill('ben');
  await page.getByLabel('Password').fill('wheel');
  await page.getByRole('button', { name: 'Log in and reconnect' }).click();
  await status('ben · reader');
  await page.reload();
  await status('ben · reader');
  await page.getByRole('textbox', { name: 'Notice' }).fill('May I?');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').filter({ hasText: 'Only writers may post.' }).waitFor();
  t.is(await page.getByRole('log').locator('li').count(), 0);
});
