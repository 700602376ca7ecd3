/** The option `admin` of listeners that speak HTTP: its type and its parser. Answers no request: the native side does. */

import { type Fields, readObject, shown } from './fields.js';

/** The admin page of a listener. */
export interface AdminOptions {
  /**
   * The secret that the page asks for: at least 16 visible ASCII characters, for example `randomBytes(24).toString('hex')`.
   * Clients send it as `Authorization: Bearer <token>`.
   */
  token: string;
  /** The path of the page. What it loads is below it. Default `'/admin'`. */
  path?: string;
}

/** The options in the form of the native side. */
export type AdminPlan = Required<AdminOptions>;

/** Reads the option. `false` means that it is off, although it may be on elsewhere. */
export function readAdmin(value: unknown, at: string, problems: string[]): AdminPlan | false | undefined {
  if (value === undefined || value === false) return value;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    problems.push(`${at} must be an object with a token, or false, not ${shown(value)}`);
    return undefined;
  }
  const { token, path = '/admin' }: Fields = readObject(value, at, KEYS, problems);
  // the message does not show a secret
  if (typeof token !== 'string' || !/^[\x21-\x7e]{16,1024}$/.test(token)) {
    problems.push(`${at}.token must be a string of 16 to 1024 visible ASCII characters`);
  }
  if (typeof path !== 'string' || !/^(?:\/[\x21-\x22\x24-\x2e\x30-\x3e\x40-\x7e]+)+$/.test(path)) {
    problems.push(`${at}.path must be a path such as "/admin", not ${shown(path)}`);
  }
  return { token, path } as AdminPlan;
}

const KEYS = ['token', 'path'];
