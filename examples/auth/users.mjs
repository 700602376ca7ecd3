// @ts-check
/** Who may sign in. In a real server this is a table of a database. */
import { scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

const derive = /** @type {(password: string, salt: Buffer, length: number) => Promise<Buffer>} */ (promisify(scrypt));

/** A password is kept as its scrypt hash with a salt of its own. Here they are "water" and "wheel". */
const users = new Map([
  ['anna', makeUser('UCcVlgiLQ3mVPx3mD6dcAA==', 'sA3+25Ck1DPAwZX/MbNxVusf6gKGzOk9MUNalUcaEAQ=', ['reader', 'writer'])],
  ['ben', makeUser('uYBqKqinmCyQnW+K/U1K+Q==', '3QgnvosjNN+QUkJAcaSZNz316UQLeBAWNiF5vIg+VIw=', ['reader'])],
]);
const nobody = makeUser('', Buffer.alloc(32).toString('base64'), []);

/**
 * @param {unknown} name
 * @param {unknown} password
 * @returns {Promise<{ user: string, roles: string[] } | undefined>} undefined: wrong name or password
 */
export async function findUser(name, password) {
  const user = String(name);
  const { salt, hash, roles } = users.get(user) ?? nobody;
  // Unknown names take as long as wrong passwords.
  const isRight = timingSafeEqual(await derive(String(password), salt, hash.length), hash);
  return isRight && users.has(user) ? { user, roles } : undefined;
}

/**
 * @param {string} salt
 * @param {string} hash
 * @param {string[]} roles
 */
function makeUser(salt, hash, roles) {
  return { salt: Buffer.from(salt, 'base64'), hash: Buffer.from(hash, 'base64'), roles };
}
