/** The options of a listener that speaks HTTP: their types and their parser. Answers nothing: the native side does. */

import { type Fields, readFlag, shown } from '../options/fields.js';
import { ANSWER_RANGES, FILE_RANGES, HTTP_RANGES } from '../options/limits.generated.js';
import { readStatic, type StaticOptions, type StaticPlan } from '../options/static.js';
import type { ProtocolModule } from './protocol.js';

export type { StaticOptions } from '../options/static.js';

/** Paths of a listener at which something other than a WebSocket answers. All are off by default. */
export interface PathOptions {
  /**
   * `GET` of this path opens a socket that only receives, as Server-Sent Events; `true` is `"/events"`. `handleOpen`
   * decides over it as over a WebSocket. A client that does not accept `text/event-stream` gets 406. Default `false`.
   */
  events?: boolean | string;
  /**
   * `GET` of this path answers with the counters of `stats()` as JSON; `true` is `"/stats"`. For a listener that only you
   * can reach. Default `false`.
   */
  stats?: boolean | string;
  /**
   * `GET` of this path answers with metrics as Prometheus reads them; `true` is `"/metrics"`. For a listener that only you
   * can reach. Default `false`.
   */
  metrics?: boolean | string;
  /**
   * `GET` of this path answers 200 while the gateway answers at all; `true` is `"/health"`. Where it is given, `ready` is, too.
   * Default `false`.
   */
  health?: boolean | string;
  /**
   * `GET` of this path answers 200 if the gateway should get new clients, else 503: while a server of it stops, while no worker
   * takes connections, and without the link to other nodes, if there is to be one. `true` is `"/ready"`. Default: that of `health`.
   */
  ready?: boolean | string;
}

/** Options of listeners with `protocol: 'http'`: in `StartOptions` for all of them, in a `Listener` for that one. */
export interface HttpOptions extends PathOptions {
  /** Which browser origins may connect. Default `'*'`. */
  origins?: Origins;
  /**
   * The path, or paths, on which WebSockets open, compared as sent. Elsewhere a handshake is an ordinary request: for a file or a
   * `fetch` handler, or it gets 404. Default: any.
   */
  websocketPath?: string | string[];
  /**
   * A directory whose files are served, without JavaScript: its path, or more about it; or several. They answer behind
   * WebSockets and the paths of `stats`, `metrics` and `events`, and before `fetch`.
   */
  static?: string | StaticOptions | (string | StaticOptions)[];
}

/** Options of a listener with `protocol: 'http'`. What it does not say is as in `StartOptions`. */
export interface HttpListenerOptions extends HttpOptions {
  /** HTTP (default): WebSockets, event streams, files and requests. */
  protocol?: 'http';
  /**
   * Whether requests with the methods CONNECT (HTTP/1.1 only) and TRACE reach the handlers. Default false: Millrace answers them
   * itself, with 501 and 405.
   */
  rawMethods?: boolean;
}

/**
 * Which browser origins may connect: any, only those whose host and port equal the request's `Host`, or a list of
 * `scheme://host[:port]`. Refused requests get 403 before the upgrade; requests without an `Origin` pass.
 */
export type Origins = '*' | 'same-host' | string[];

/** What the native side is told. Only what was given; a path that is off is not there. */
export type HttpPlan = {
  origins?: Origins;
  websocketPaths?: string[];
  rawMethods?: boolean;
  static?: StaticPlan[];
} & PathPlan;

/** The names of the options that `StartOptions` has too. */
export const HTTP_KEYS = [
  'origins',
  'websocketPath',
  'static',
  'events',
  'stats',
  'metrics',
  'health',
  'ready',
] as const;

/** See `ProtocolModule`. */
export const http = {
  name: 'http',
  keys: [...HTTP_KEYS, 'rawMethods'],
  limits: { ...HTTP_RANGES, ...FILE_RANGES, ...ANSWER_RANGES },
  read(listener, at, _address, defaults, problems) {
    const plan = readHttp(listener, at, defaults.http, problems);
    const rawMethods = readFlag(listener['rawMethods'], `${at}.rawMethods`, problems);
    if (rawMethods !== undefined) plan.rawMethods = rawMethods;
    return plan;
  },
} as const satisfies ProtocolModule<HttpPlan>;

/** Reads the options of `HTTP_KEYS`, those of `defaults` where they are not given. */
export function readHttp(given: Fields, at: string, defaults: HttpPlan, problems: string[]): HttpPlan {
  const plan: HttpPlan = readPaths(given, at, defaults, problems);
  const origins = readOrigins(given['origins'], `${at}.origins`, problems) ?? defaults.origins;
  if (origins !== undefined) plan.origins = origins;
  const websocketPaths =
    readPathList(given['websocketPath'], `${at}.websocketPath`, problems) ?? defaults.websocketPaths;
  if (websocketPaths !== undefined) plan.websocketPaths = websocketPaths;
  const files = readStatic(given['static'], `${at}.static`, problems) ?? defaults.static;
  if (files !== undefined) plan.static = files;
  return plan;
}

type PathPlan = { [key in keyof PathOptions]?: string };

/** `ready` behind `health`, of which it has its default. */
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

/** A listener that says something of `health` means both. */
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

/** Said, and no path. */
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
