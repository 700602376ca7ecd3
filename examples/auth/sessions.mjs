// @ts-check
/**
 * Sessions as JWTs. The signature proves that this server made the JWT, and `exp` is its expiry. A JWT alone cannot be
 * revoked, so `sid` names an entry of the key/value store, which all workers share: signing out removes it.
 *
 * @typedef {{ user: string, roles: string[], sid: string, expires: number }} Session  expires: ms since 1970
 */
import { randomUUID } from 'node:crypto';
import { errors, jwtVerify, SignJWT } from 'jose';
import { getKey, setKey, setKeyIf } from 'millrace';

export class Sessions {
  #secret;
  #seconds;

  /**
   * @param {string} secret signs the tokens
   * @param {number} seconds how long a session lasts
   */
  constructor(secret, seconds) {
    this.#secret = new TextEncoder().encode(secret);
    this.#seconds = seconds;
  }

  /**
   * @param {string} user
   * @param {string[]} roles
   * @returns {Promise<string>} a JWT
   */
  async begin(user, roles) {
    setKeyIf(keyOf(user), randomUUID(), undefined);
    return new SignJWT({ roles, sid: openSession(user) })
      .setProtectedHeader({ alg: ALGORITHM })
      .setIssuer(ISSUER)
      .setSubject(user)
      .setIssuedAt()
      .setExpirationTime(`${this.#seconds} seconds`)
      .sign(this.#secret);
  }

  /**
   * @param {string | undefined} token
   * @returns {Promise<Session | undefined>} undefined: there is no token, or it is forged, has expired or was signed out
   */
  async find(token) {
    if (token === undefined) return undefined;
    try {
      const { payload } = await jwtVerify(token, this.#secret, {
        algorithms: [ALGORITHM],
        issuer: ISSUER,
        requiredClaims: ['sub', 'exp', 'sid', 'roles'],
      });
      const { sub, exp, sid, roles } = /** @type {Claims} */ (payload);
      const session = { user: sub, roles, sid, expires: exp * 1000 };
      return this.isOpen(session) ? session : undefined;
    } catch (error) {
      if (error instanceof errors.JOSEError) return undefined;
      throw error;
    }
  }

  /** @param {Session} session @returns {boolean} whether its user has not signed out since */
  isOpen({ user, sid }) {
    return openSession(user) === sid;
  }

  /** Ends all sessions of a user. @param {string} user */
  end(user) {
    setKey(keyOf(user));
  }
}

/** @param {string} user @returns {string | undefined} undefined: nobody has signed in as this user, or they have signed out */
function openSession(user) {
  const kept = getKey(keyOf(user));
  return kept && new TextDecoder().decode(kept);
}

/** @param {string} user */
const keyOf = (user) => `session of ${user}`;

/** @typedef {{ sub: string, exp: number, sid: string, roles: string[] }} Claims  what `begin` has signed */

const ALGORITHM = 'HS256';
const ISSUER = 'millrace-board';
