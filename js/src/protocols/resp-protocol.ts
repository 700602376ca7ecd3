/** The parser of the options of a listener that speaks RESP, the Redis protocol. Does not know the wire format. */

import { isIPv4 } from 'node:net';
import { NOTHING, readFlag, readObject, shown } from '../options/fields.js';
import { RESP_RANGES } from '../options/limits.generated.js';
import type { ProtocolModule } from './protocol.js';
import type { RespPlan, RespUser } from './resp-listener.js';

/** See `ProtocolModule`. */
export const resp = {
  name: 'resp',
  keys: ['password', 'users', 'publishAs', 'allowAnyone'],
  limits: RESP_RANGES,
  read(listener, at, address, _defaults, problems) {
    const { password, users, publishAs } = listener;
    const plan: RespPlan = { users: readUsers(users, `${at}.users`, problems), publishAs: 'auto' };
    if (password !== undefined) plan.password = readSecret(password, `${at}.password`, problems);
    if (publishAs === 'text' || publishAs === 'binary') plan.publishAs = publishAs;
    else if (publishAs !== undefined && publishAs !== 'auto') {
      problems.push(`${at}.publishAs must be 'auto', 'text' or 'binary', not ${shown(publishAs)}`);
    }
    const anyone = readFlag(listener['allowAnyone'], `${at}.allowAnyone`, problems);
    if (password === undefined && users === undefined && anyone !== true && !isLocal(address)) {
      problems.push(`${at} needs a password, users or allowAnyone: ${shown(address)} can be reached by other machines`);
    }
    return plan;
  },
} as const satisfies ProtocolModule<RespPlan>;

function readUsers(value: unknown, at: string, problems: string[]): RespUser[] {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length === 0) {
    problems.push(`${at} must be an array of users, not ${Array.isArray(value) ? 'an empty one' : shown(value)}`);
    return [];
  }
  const names = new Set<string>();
  return value.flatMap((entry: unknown, index) => {
    const place = `${at}[${index}]`;
    const fields = readObject(entry, place, USER_KEYS, problems);
    if (fields === NOTHING) return [];
    const name = readSecret(fields['name'], `${place}.name`, problems);
    if (names.has(name)) problems.push(`${place}.name must be another one than those before, not ${shown(name)}`);
    names.add(name);
    const user: RespUser = { name, password: readSecret(fields['password'], `${place}.password`, problems) };
    for (const key of ['channels', 'keys', 'commands'] as const) {
      const list = readTexts(fields[key], `${place}.${key}`, problems);
      if (list !== undefined) user[key] = key === 'commands' ? list.map((text) => text.toLowerCase()) : list;
    }
    return [user];
  });
}

/** Reads a password: a string that is not empty. Its value is never shown. */
function readSecret(value: unknown, at: string, problems: string[]): string {
  if (typeof value === 'string' && value !== '') return value;
  problems.push(
    `${at} must be a text that is not empty, not ${typeof value === 'string' ? 'an empty one' : shown(value)}`,
  );
  return '';
}

function readTexts(value: unknown, at: string, problems: string[]): string[] | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) {
    problems.push(`${at} must be an array of texts, not ${shown(value)}`);
    return undefined;
  }
  for (const [index, text] of value.entries()) {
    if (typeof text !== 'string' || Buffer.byteLength(text) > MOST_PATTERN_BYTES) {
      problems.push(`${at}[${index}] must be a text of at most ${MOST_PATTERN_BYTES} bytes, not ${shown(text)}`);
    }
  }
  return [...value];
}

/**
 * Whether only this machine can connect. True for a value that is not an address, because another check reports that.
 */
function isLocal(address: unknown): boolean {
  if (typeof address !== 'string' || address.startsWith('unix:')) return true;
  const host = address.slice(0, address.lastIndexOf(':'));
  return host === 'localhost' || host === '[::1]' || (isIPv4(host) && host.startsWith('127.'));
}

const USER_KEYS = ['name', 'password', 'channels', 'keys', 'commands'];

/** The limit of every pattern of channels. */
const MOST_PATTERN_BYTES = 1024;
