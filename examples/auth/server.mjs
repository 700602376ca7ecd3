// @ts-check
/**
 * The authentication example: `node examples/auth/server.mjs`, then open the address it prints.
 *
 * --port 3001       where the page is served (or PORT); 0 picks a free one
 * --session 3600    seconds that a token is valid
 * --login 30        seconds that a guest has to log in
 * AUTH_SECRET       signs the tokens; without it a new one is made at each start
 */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { parseArgs, promisify } from 'node:util';
import { start } from 'millrace';
import { createPageServer } from './page.mjs';
import { issue } from './tokens.mjs';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: process.env.PORT ?? '3001' },
    session: { type: 'string', default: '3600' },
    login: { type: 'string', default: '30' },
  },
});
const secret = process.env.AUTH_SECRET ?? randomBytes(32).toString('hex');
const derive = /** @type {(password: string, salt: Buffer, length: number) => Promise<Buffer>} */ (promisify(scrypt));

// A real server has these in a database, hashed when they were set.
const users = new Map([
  ['anna', await makeUser('water', ['reader', 'writer'])],
  ['ben', await makeUser('wheel', ['reader'])],
]);
const nobody = await makeUser('', []);

const board = await start({
  bind: '127.0.0.1:0',
  workerPath: new URL('./worker.mjs', import.meta.url),
  workerArg: { secret, loginMs: Number(values.login) * 1000 },
  origins: 'same-host',
  limits: { messageBytes: 4096, messagesPerSecond: 20 },
  stopOnSignals: true,
  onError: (error) => console.error(error),
});

const [host = '', port] = (board.addresses[0] ?? '').split(':');
const page = await createPageServer(
  new URL('./public/', import.meta.url),
  { host, port: Number(port) },
  { 'POST /login': login, 'POST /logout': logout },
);
page.listen({ host: 'localhost', port: Number(values.port) }, () => {
  const address = /** @type {import('node:net').AddressInfo} */ (page.address());
  console.log(`Authentication example: http://localhost:${address.port}`);
});

board.stopped.then(() => {
  page.close();
  page.closeAllConnections();
});

/**
 * Exchanges a password for a token: as a cookie for the next connection, and in the answer for the current one.
 * @type {import('node:http').RequestListener}
 */
async function login(request, response) {
  const { user, password } = await readJson(request);
  const known = users.get(String(user)) ?? nobody;
  // Unknown names take as long as wrong passwords.
  const right = timingSafeEqual(await derive(String(password), known.salt, 32), known.hash) && known !== nobody;
  if (!right) {
    response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":"wrong name or password"}');
    return;
  }
  const seconds = Number(values.session);
  const token = issue({ user: String(user), roles: known.roles, expires: Date.now() + seconds * 1000 }, secret);
  // Over https, add "; Secure".
  response.setHeader('set-cookie', `session=${token}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${seconds}`);
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify({ token }));
}

/** @type {import('node:http').RequestListener} */
function logout(_request, response) {
  response.setHeader('set-cookie', 'session=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0');
  response.writeHead(204).end();
}

/**
 * @param {string} password
 * @param {string[]} roles
 */
async function makeUser(password, roles) {
  const salt = randomBytes(16);
  return { salt, hash: await derive(password, salt, 32), roles };
}

/**
 * @param {import('node:http').IncomingMessage} request
 * @returns {Promise<{ user?: unknown, password?: unknown }>} empty: not an object, or too long
 */
async function readJson(request) {
  let text = '';
  try {
    for await (const chunk of request.setEncoding('utf8')) {
      text += chunk;
      if (text.length > 1024) return {};
    }
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}
