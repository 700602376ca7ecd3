/**
 * The parser of `start`'s options, which reports every problem at once, and the types of listeners. Does not change its
 * input.
 */

import { isIPv4, isIPv6 } from 'node:net';
import type { MillraceError } from '../errors.js';
import { LOG_LEVELS, type LogPlan, parseLogRules } from '../log/log.js';
import type { LogLine } from '../log/log-line.js';
import { HTTP_KEYS, readHttp } from '../protocols/http-protocol.js';
import type { ProtocolName, Protocols } from '../protocols/listeners.js';
import type { Defaults } from '../protocols/protocol.js';
import PROTOCOLS from '../protocols/registry.js';
import { type BackplanePlan, readBackplane } from './backplane.js';
import { type ChannelPlan, readChannels } from './channels.js';
import { choice, type Fields, NOTHING, readFlag, readFunction, readNumber, readObject, shown } from './fields.js';
import type { Range } from './limit-values.js';
import {
  GATEWAY_RANGES,
  GATEWAY_WORDS,
  LISTENER_RANGES,
  type ListenerLimits,
  OWN_LIMITS,
  readWords,
} from './limits.js';
import { PROXY_KEYS, type ProxyPlan, readProxy } from './proxy.js';
import { readStopOnSignals } from './server-options.js';
import { readTls, type TlsOptions, type TlsPlan } from './tls.js';
import { readWorkers, type WorkerPlan } from './worker-options.js';

/** An address to listen on, with the listener's own options and those of its protocol. */
export type Listener = {
  [Name in ProtocolName]: ListenerOptions<ListenerLimits & Protocols[Name]['limits']> & Protocols[Name]['options'];
}[ProtocolName];

/** Options that every listener has, whatever its protocol. */
export interface ListenerOptions<OwnLimits extends ListenerLimits = ListenerLimits> {
  /** `"ip:port"`, `"[ipv6]:port"`, `"localhost:port"`, `":port"` (every interface) or `"unix:/path"`. Port 0 picks a free one. */
  address: string;
  /** As in `StartOptions`, for this listener. */
  trustProxy?: string[];
  /**
   * Whether every connection begins with a PROXY protocol header (version 1 or 2), with which load balancers name the
   * client. Connections without a header, or from an address that is not in `trustProxy`, are closed. Default false.
   */
  proxyProtocol?: boolean;
  /** As in `StartOptions`, for this listener. `false` turns TLS off. */
  tls?: TlsOptions | false;
  /** As in `StartOptions`, for this listener. */
  reusePort?: boolean;
  /**
   * Limits of this listener: those of every listener and of its protocol. They take precedence over those of
   * `StartOptions`.
   */
  limits?: OwnLimits;
}

/** A listener's options in the form of the native side. Holds only the given options. */
export type ListenerPlan = {
  /** Empty if the listener is attached to a server. */
  address: string;
  attached?: true;
  protocol: string;
  /** The protocol's plan. Only the protocol reads it. */
  options: object;
  reusePort?: boolean;
  tls?: TlsPlan;
  /** The limits of the listener's protocol: the listener's own or, where it has none, those of `options.limits`. */
  limits?: Fields;
} & ProxyPlan;

/** The gateway's options in the form of the native side. Holds only the given options. */
export type GatewayPlan = Record<string, number | string | boolean | ChannelPlan[]>;

/** Checked options. */
export interface StartPlan {
  listeners: ListenerPlan[];
  workers: WorkerPlan | undefined;
  gateway: GatewayPlan;
  backplane: BackplanePlan | undefined;
  handlerTimeoutMs: number | undefined;
  workerStartTimeoutMs: number | undefined;
  onError: ((error: MillraceError) => void) | undefined;
  log: LogPlan;
}

/**
 * Checks options. `first`: the gateway is not running yet. `attached`: they are those of `attach`.
 *
 * @throws {TypeError} naming every problem with the path the user wrote
 */
export function parseStartOptions(options: unknown, first: boolean, attached = false): StartPlan {
  const problems: string[] = [];
  if (!attached) {
    const plan = readStartOptions(options, first, problems);
    throwAll(problems);
    return plan;
  }
  for (const name of NOT_ATTACHED) {
    if ((options as Fields | undefined | null)?.[name] === undefined) continue;
    problems.push(`options.${name} is not available with attach: ${name === 'bind' ? WHO_LISTENS : WHO_ANSWERS}`);
  }
  const plan = readStartOptions({ ...(options as object), bind: { address: ATTACHED } }, first, problems);
  for (const listener of plan.listeners) Object.assign(listener, { address: '', attached: true });
  throwAll(problems);
  return plan;
}

/** Stands for the address of a listener that has none. */
const ATTACHED = ':0';

/** Options that are for a server that listens, or answers requests. */
const NOT_ATTACHED = ['bind', 'tls', 'reusePort', 'static', 'events', 'stats', 'metrics', 'health', 'ready', 'admin'];
const WHO_LISTENS = 'the HTTP server listens';
const WHO_ANSWERS = 'the HTTP server answers everything but WebSockets';

/** Checks options as `parseStartOptions` does, but adds problems to the given list. */
export function readStartOptions(options: unknown, first: boolean, problems: string[]): StartPlan {
  const root = readObject(options, 'options', START_KEYS, problems);
  const limits = readLimits(root['limits'], 'options.limits', ALL_RANGES, problems);
  const reusePort = readFlag(root['reusePort'], 'options.reusePort', problems);
  const tls = readTls(root['tls'], 'options.tls', problems);
  const proxy = readProxy(root, 'options', {}, problems);
  readStopOnSignals(root['stopOnSignals'], problems);
  const protocols: Defaults = { http: readHttp(root, 'options', {}, problems) };
  const listeners =
    root === NOTHING ? [] : readBind(root['bind'], { limits, reusePort, tls, proxy, protocols }, problems);
  const workers = root === NOTHING ? undefined : readWorkers(root, first, problems);
  const gateway = gatewayPlan(root, limits, problems);
  const backplane = readBackplane(root['backplane'], 'options.backplane', problems);
  return {
    listeners,
    workers,
    gateway,
    backplane,
    handlerTimeoutMs: limits['handlerTimeoutMs'] as number | undefined,
    workerStartTimeoutMs: limits['workerStartTimeoutMs'] as number | undefined,
    onError: readFunction<MillraceError>(root['onError'], 'options.onError', problems),
    log: {
      onLog: readFunction<LogLine>(root['onLog'], 'options.onLog', problems),
      level: readLogLevel(root['logLevel'], problems),
    },
  };
}

/** @throws {TypeError} naming every problem, if there are any */
export function throwAll(problems: readonly string[]): void {
  if (problems.length === 1) throw new TypeError(problems[0]);
  if (problems.length > 1) throw new TypeError(`invalid options:\n  ${problems.join('\n  ')}`);
}

type Protocol = (typeof PROTOCOLS)[number];

const START_KEYS = [
  'bind',
  'workerPath',
  'handlers',
  'threads',
  'workerArg',
  'ioThreads',
  'ioUring',
  'channels',
  'stopOnSignals',
  'backplane',
  'limits',
  'tls',
  'trustProxy',
  'reusePort',
  ...HTTP_KEYS,
  'onError',
  'onLog',
  'logLevel',
];
const PROTOCOL_KEYS = [...new Set(PROTOCOLS.flatMap(({ keys }) => keys))];
const LISTENER_KEYS = ['address', 'protocol', 'reusePort', 'tls', ...PROXY_KEYS, 'limits', ...PROTOCOL_KEYS];
/** The limits of every protocol's listeners. */
const LISTENER_LIMITS: Record<string, Range> = Object.assign(
  { ...LISTENER_RANGES },
  ...PROTOCOLS.map(({ limits }) => limits),
);
const ALL_RANGES: Record<string, Range> = { ...LISTENER_LIMITS, ...GATEWAY_RANGES };
const MOST_IO_THREADS = 64;

function readBind(
  value: unknown,
  defaults: {
    limits: Fields;
    reusePort: boolean | undefined;
    tls: TlsPlan | false | undefined;
    proxy: ProxyPlan;
    protocols: Defaults;
  },
  problems: string[],
): ListenerPlan[] {
  if (value === undefined) {
    problems.push('options.bind is required: an address such as "127.0.0.1:8080", or an array of addresses');
    return [];
  }
  const isList = Array.isArray(value);
  const entries: unknown[] = isList ? value : [value];
  return entries.map((entry, index) => {
    const at = isList ? `options.bind[${index}]` : 'options.bind';
    const listener: Fields = typeof entry === 'string' ? { address: entry } : readListener(entry, at, problems);
    const address = listener['address'];
    if (listener !== NOTHING) checkAddress(address, typeof entry === 'string' ? at : `${at}.address`, problems);
    const own = readLimits(listener['limits'], `${at}.limits`, LISTENER_LIMITS, problems);
    const spoken = findProtocol(listener, at, problems);
    const plan: ListenerPlan = {
      address: address as string,
      protocol: spoken?.name ?? '',
      options: spoken === undefined ? {} : readProtocol(spoken, listener, at, defaults.protocols, problems),
      ...readProxy(listener, at, defaults.proxy, problems),
    };
    const tls = readTls(listener['tls'], `${at}.tls`, problems) ?? defaults.tls;
    if (tls) plan.tls = tls;
    const reusePort = readFlag(listener['reusePort'], `${at}.reusePort`, problems) ?? defaults.reusePort;
    if (reusePort !== undefined) plan.reusePort = reusePort;
    const limits = spoken && pickLimits(spoken, own, `${at}.limits`, defaults.limits, problems);
    if (limits !== undefined) plan.limits = limits;
    return plan;
  });
}

function readListener(value: unknown, at: string, problems: string[]): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    problems.push(`${at} must be an address or a listener object, not ${shown(value)}`);
    return NOTHING;
  }
  return readObject(value, at, LISTENER_KEYS, problems);
}

function findProtocol(listener: Fields, at: string, problems: string[]): Protocol | undefined {
  const { protocol = PROTOCOLS[0].name } = listener;
  const spoken = PROTOCOLS.find(({ name }) => name === protocol);
  if (spoken === undefined) {
    problems.push(`${at}.protocol must be ${choice(PROTOCOLS.map(({ name }) => name))}, not ${shown(protocol)}`);
  }
  return spoken;
}

/** Reads the options of the protocol. Adds a problem for each option that belongs to another protocol. */
function readProtocol(spoken: Protocol, listener: Fields, at: string, defaults: Defaults, problems: string[]): object {
  for (const key of PROTOCOL_KEYS) {
    if (listener[key] === undefined || spoken.keys.includes(key)) continue;
    problems.push(`${at}.${key} ${isFor(({ keys }) => keys.includes(key))}`);
  }
  return spoken.read(listener, at, listener['address'], defaults, problems);
}

/**
 * Selects the limits of listeners and of this protocol. Adds a problem for each of the listener's own that belongs to
 * another protocol.
 */
function pickLimits(
  spoken: Protocol,
  own: Fields,
  at: string,
  defaults: Fields,
  problems: string[],
): Fields | undefined {
  const limits: Record<string, unknown> = {};
  for (const name of Object.keys(LISTENER_LIMITS)) {
    const isOf = ({ limits = {} }: Protocol) => name in limits;
    if (name in LISTENER_RANGES || isOf(spoken)) {
      const limit = own[name] ?? defaults[name];
      if (limit !== undefined) limits[name] = limit;
    } else if (own[name] !== undefined) {
      problems.push(`${at}.${name} ${isFor(isOf)}`);
    }
  }
  return Object.keys(limits).length > 0 ? limits : undefined;
}

/** Says which protocols an option belongs to, for a listener of another protocol. */
function isFor(owns: (protocol: Protocol) => boolean): string {
  return `is for listeners with protocol ${choice(PROTOCOLS.filter(owns).map(({ name }) => name))}`;
}

function checkAddress(value: unknown, at: string, problems: string[]): void {
  if (typeof value !== 'string') {
    problems.push(`${at} must be an address such as "127.0.0.1:8080", not ${shown(value)}`);
  } else if (!isAddress(value)) {
    problems.push(
      `${at} must be "ip:port", "[ipv6]:port", "localhost:port", ":port" or "unix:/path", not ${shown(value)}`,
    );
  }
}

/** Whether `bind` takes this text. */
export function isAddress(text: string): boolean {
  if (text.startsWith('unix:')) return text.length > 'unix:'.length && !text.includes('\0');
  const parts = /^(?:\[(?<v6>[^\]]*)\]|(?<host>[^:]*)):(?<port>[0-9]{1,5})$/.exec(text)?.groups;
  if (parts === undefined || Number(parts['port']) > 65_535) return false;
  const { v6, host } = parts;
  if (v6 !== undefined) return isIPv6(v6);
  return host === '' || host === 'localhost' || isIPv4(host ?? '');
}

function gatewayPlan(root: Fields, limits: Fields, problems: string[]): GatewayPlan {
  const plan: GatewayPlan = {};
  const ioThreads = readNumber(root['ioThreads'], 'options.ioThreads', { least: 1, most: MOST_IO_THREADS }, problems);
  if (ioThreads !== undefined) plan['ioThreads'] = ioThreads;
  const ioUring = readFlag(root['ioUring'], 'options.ioUring', problems);
  if (ioUring !== undefined) plan['ioUring'] = ioUring;
  const channels = readChannels(root['channels'], 'options.channels', problems);
  if (channels !== undefined) plan['channels'] = channels;
  for (const name of [...Object.keys(GATEWAY_RANGES), ...Object.keys(GATEWAY_WORDS)]) {
    const value = limits[name];
    if (!(name in OWN_LIMITS) && value !== undefined) plan[name] = value as number | string;
  }
  return plan;
}

function readLimits(value: unknown, at: string, ranges: Record<string, Range>, problems: string[]): Fields {
  if (value === undefined) return NOTHING;
  const hasWords = ranges === ALL_RANGES;
  const names = [...Object.keys(ranges), ...(hasWords ? Object.keys(GATEWAY_WORDS) : [])];
  const given = readObject(value, at, names, problems);
  const limits: Record<string, unknown> = {};
  for (const [name, range] of Object.entries(ranges)) {
    limits[name] = readNumber(given[name], `${at}.${name}`, range, problems);
  }
  return hasWords ? { ...limits, ...readWords(given, at, problems) } : limits;
}

function readLogLevel(value: unknown, problems: string[]): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string' && parseLogRules(value, false).problems.length === 0) return value;
  problems.push(
    `options.logLevel must be ${LOG_LEVELS.join(', ')} or rules such as "warn,millrace::connection=debug", not ${shown(value)}`,
  );
  return undefined;
}
