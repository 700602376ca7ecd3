/** The parser of the options of a listener that speaks HTTP. Answers no request: the native side does. */

import { readAdmin } from '../options/admin.js';
import { readCompression } from '../options/compression.js';
import { type Fields, readFlag, shown } from '../options/fields.js';
import { ANSWER_RANGES, FILE_RANGES, HTTP_RANGES } from '../options/limits.generated.js';
import { readStatic } from '../options/static.js';
import type { HttpPlan, Origins, PathPlan } from './http-listener.js';
import type { ProtocolModule } from './protocol.js';

/** The names of the options that `StartOptions` has, too. */
export const HTTP_KEYS = [
  'origins',
  'websocketPath',
  'compression',
  'static',
  'events',
  'stats',
  'metrics',
  'health',
  'ready',
  'admin',
] as const;

/** See `ProtocolModule`. */
export const http = {
  name: 'http',
  keys: [...HTTP_KEYS, 'rawMethods'],
  limits: { ...HTTP_RANGES, ...FILE_RANGES, ...ANSWER_RANGES },
  read(listener, at, _address, defaults, problems) {
    const plan = readHttp(listener, at, defaults.http, problems);
    if (plan.admin !== undefined && plan.stats === undefined) {
      const problem = `${listener['admin'] === undefined ? 'options' : at}.admin needs stats on the same listener`;
      if (!problems.includes(problem)) problems.push(problem);
    }
    const rawMethods = readFlag(listener['rawMethods'], `${at}.rawMethods`, problems);
    if (rawMethods !== undefined) plan.rawMethods = rawMethods;
    return plan;
  },
  worker(host) {
    // loaded on demand, because most workers never get an event of `millrace.v1`
    const own: typeof import('../v1/v1-worker.js') = require('../v1/v1-worker.js');
    return own.v1Worker(host);
  },
} as const satisfies ProtocolModule<HttpPlan>;

/** Reads the options of `HTTP_KEYS`. Missing ones are taken from `defaults`. */
export function readHttp(given: Fields, at: string, defaults: HttpPlan, problems: string[]): HttpPlan {
  const plan: HttpPlan = readPaths(given, at, defaults, problems);
  const origins = readOrigins(given['origins'], `${at}.origins`, problems) ?? defaults.origins;
  if (origins !== undefined) plan.origins = origins;
  const websocketPaths =
    readPathList(given['websocketPath'], `${at}.websocketPath`, problems) ?? defaults.websocketPaths;
  if (websocketPaths !== undefined) plan.websocketPaths = websocketPaths;
  const compression = readCompression(given['compression'], `${at}.compression`, problems) ?? defaults.compression;
  if (compression) plan.compression = compression;
  const admin = readAdmin(given['admin'], `${at}.admin`, problems) ?? defaults.admin;
  if (admin) plan.admin = admin;
  const taken = PATH_KEYS.find((key) => admin && `${plan[key]}/`.startsWith(`${admin.path}/`));
  if (taken !== undefined) problems.push(`${at}.${taken} must be a path outside ${at}.admin.path`);
  const files = readStatic(given['static'], `${at}.static`, problems) ?? defaults.static;
  if (files !== undefined) plan.static = files;
  return plan;
}

/** `ready` comes after `health`, because its default depends on it. */
const PATH_KEYS = ['events', 'stats', 'metrics', 'health', 'ready'] as const;

function readPaths(given: Fields, at: string, defaults: PathPlan, problems: string[]): PathPlan {
  const plan: PathPlan = {};
  for (const key of PATH_KEYS) {
    const own = readPath(given[key], `${at}.${key}`, `/${key}`, problems);
    const path = own ?? (key === 'ready' ? usualReady(given, plan, defaults) : defaults[key]) ?? OFF;
    if (path === OFF) continue;
    const other = PATH_KEYS.find((known) => plan[known] === path);
    if (other !== undefined) {
      problems.push(`${at}.${key} must be another path than ${at}.${other}, not ${shown(path)}`);
    }
    plan[key] = path;
  }
  return plan;
}

/** The default of `ready` for a listener. One that sets `health` decides about both. */
function usualReady(given: Fields, plan: PathPlan, defaults: PathPlan): string | undefined {
  if (given['health'] === undefined) return defaults.ready;
  return plan.health === undefined ? undefined : (defaults.ready ?? '/ready');
}

function readPath(value: unknown, at: string, usual: string, problems: string[]): string | undefined {
  if (value === undefined) return undefined;
  if (value === false) return OFF;
  if (value === true) return usual;
  if (typeof value === 'string' && /^\/[\x21-\x7e]*$/.test(value) && !/[?#]/.test(value)) return value;
  problems.push(`${at} must be true, false or a path such as "${usual}", not ${shown(value)}`);
  return undefined;
}

/** The value of a path that was turned off explicitly. */
const OFF = '';

function readPathList(value: unknown, at: string, problems: string[]): string[] | undefined {
  if (value === undefined) return undefined;
  const isList = Array.isArray(value);
  const paths: unknown[] = isList ? value : [value];
  for (const [index, path] of paths.entries()) {
    if (typeof path === 'string' && /^\/[^\s?#]*$/.test(path)) continue;
    problems.push(`${isList ? `${at}[${index}]` : at} must be a path such as "/ws", not ${shown(path)}`);
  }
  return paths as string[];
}

function readOrigins(value: unknown, at: string, problems: string[]): Origins | undefined {
  if (value === undefined || value === '*' || value === 'same-host') return value;
  if (!Array.isArray(value)) {
    problems.push(`${at} must be '*', 'same-host' or an array of origins, not ${shown(value)}`);
    return undefined;
  }
  for (const [index, origin] of value.entries()) {
    if (typeof origin !== 'string' || !/^[a-z][a-z0-9+.-]*:\/\/[^/\s?#]+$/i.test(origin)) {
      problems.push(`${at}[${index}] must be an origin such as "https://example.org", not ${shown(origin)}`);
    }
  }
  return [...value];
}
