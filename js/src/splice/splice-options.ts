/**
 * The options of `createSplice`: their types, and the parser that turns them into options of `start`. Starts no server.
 */

import type { MillraceError } from '../errors.js';
import type { StopOptions } from '../gateway/signals.js';
import type { LogLine } from '../log/log-line.js';
import { choice, type Fields, NOTHING, readObject, shown } from '../options/fields.js';
import { GATEWAY_RANGES, type HttpLimits, SPLICE_RANGES, type SpliceLimits } from '../options/limits.generated.js';
import type { GatewayLimits, ListenerLimits } from '../options/limits.js';
import { readProxy } from '../options/proxy.js';
import { isAddress, type ListenerOptions, readStartOptions, throwAll } from '../options/start-options.js';
import type { TlsOptions } from '../options/tls.js';
import type { SpliceOptions } from '../protocols/splice-listener.js';
import { isLocal, splice } from '../protocols/splice-protocol.js';
import { type Duration, readDuration, readSize, type Size } from './units.js';

/** Limits of a listener that speaks splice. */
export type SpliceListenerLimits = ListenerLimits & HttpLimits & SpliceLimits;

/** Options of splice, without those that need workers. */
export type SpliceTerms = Omit<SpliceOptions, 'protocol' | 'localTargets'>;

/** An address to listen on, with options of its own. */
export interface SpliceListener extends SpliceTerms, Omit<ListenerOptions<SpliceListenerLimits>, 'tls'> {
  /** Always `'splice'`. */
  protocol?: 'splice';
  /** As in `SpliceServerOptions`, for this listener. `false` turns TLS off. */
  tls?: SpliceTlsOptions | false;
}

/**
 * TLS on a listener. With `ca`, clients without a certificate that it has signed are refused, unless
 * `clientCertificates` is `'optional'`.
 */
export type SpliceTlsOptions = TlsOptions;

/** Options of `createSplice`. Options that a listener can have, too, apply to all listeners without their own. */
export interface SpliceServerOptions extends SpliceTerms {
  /**
   * The addresses to listen on, as in `start`: an address, an object with an address and options, or an array of these.
   */
  bind: string | SpliceListener | (string | SpliceListener)[];
  /** TLS (`wss:`) on every listener that has no `tls` of its own. Default: no TLS. */
  tls?: SpliceTlsOptions;
  /** The longest control message, without its index. Sets `limits.controlBytes`. Default `'5MB'`. */
  frameSizeLimit?: Size;
  /** How long a write to a client or a target may make no progress. Sets `limits.writeTimeoutMs`. Default `'5s'`. */
  writeTimeout?: Duration;
  /**
   * How long connecting to a target may take, including its handshake. Sets `limits.dialTimeoutMs`. Default `'10s'`.
   */
  dialTimeout?: Duration;
  /** Limits. A `frameSizeLimit` above 16 MiB is also the default of `messageBytes`. */
  limits?: SpliceListenerLimits & GatewayLimits;
  /** Proxies whose `X-Forwarded-For` or `Forwarded` header is trusted, as in `start`. */
  trustProxy?: string[];
  /** Whether every connection begins with a PROXY protocol header, as on a listener of `start`. */
  proxyProtocol?: boolean;
  /**
   * Whether other processes that also set this option may listen on the same TCP port. Not available on Windows.
   * Default false.
   */
  reusePort?: boolean;
  /** The number of I/O threads, 1 to 64. Default: the available parallelism. */
  ioThreads?: number;
  /** Whether writes to many connections go to the kernel in one call, by io_uring. Default true. */
  ioUring?: boolean;
  /** Whether SIGINT and SIGTERM stop the server, as in `start`. Default false. */
  stopOnSignals?: boolean | StopOptions;
  /** Called with errors that no caller can catch. Default: they are printed to the standard error output. */
  onError?(error: MillraceError): void;
  /** Called with each line of the log, as in `start`. */
  onLog?(line: LogLine): void;
  /** What is logged, as in `start`. */
  logLevel?: string;
}

/**
 * Checks options.
 *
 * @returns options of `start`
 * @throws {TypeError} naming every problem with the path the user wrote
 */
export function parseSpliceOptions(options: unknown): object {
  const problems: string[] = [];
  const root = readObject(options, 'options', KEYS, problems);
  if (root === NOTHING) throwAll(problems);
  const shared = picked(root, LISTENER_KEYS);
  // report problems of these options once, not for each listener
  splice.read(shared, 'options', undefined, { http: {} }, problems);
  readProxy(root, 'options', {}, problems);
  const rest = {
    ...picked(root, START_KEYS),
    tls: requiring(root['tls']),
    limits: readLimits(root, problems),
    // sessions need no worker
    handlers: {},
  };
  checkHosts(root, 'options', problems);
  const { bind } = root;
  const isList = Array.isArray(bind);
  const listeners = (isList ? bind : [bind]).map((entry: unknown, index) => {
    const at = isList ? `options.bind[${index}]` : 'options.bind';
    const own = listenerOf(entry);
    checkHosts(own, at, problems);
    const whole = typeof own === 'object' && own !== null ? { ...shared, ...own } : own;
    checkListener(whole, at, problems);
    // problems of an address that is not in an object have no path within it
    return { own: typeof entry === 'string' ? entry : own, whole };
  });
  const bindOf = (which: 'own' | 'whole'): unknown => {
    const all = listeners.map((listener) => listener[which]);
    return isList ? all : all[0];
  };
  readStartOptions({ ...rest, bind: bindOf('own') }, true, problems);
  throwAll([...new Set(problems)]);
  return { ...rest, bind: bindOf('whole') };
}

/** TLS options in which `ca` implies that client certificates are required. */
export function requiring(tls: unknown): unknown {
  const { ca, clientCertificates } = (tls ?? {}) as Fields;
  return ca === undefined || clientCertificates !== undefined
    ? tls
    : { ...(tls as Fields), clientCertificates: 'required' };
}

/** The given fields among these names. */
function picked(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(names.map((name) => [name, fields[name]]).filter(([, value]) => value !== undefined));
}

/** A listener in the form of `start`. A value that is neither a string nor an object is returned unchanged. */
function listenerOf(entry: unknown): unknown {
  if (typeof entry === 'string') return { address: entry, protocol: splice.name };
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return entry;
  const given = picked(entry as Fields, Object.keys(entry));
  const { tls } = given;
  return { protocol: splice.name, ...given, ...(tls !== undefined && { tls: requiring(tls) }) };
}

/** The limits, including those that have options of their own. */
function readLimits(root: Fields, problems: string[]): unknown {
  const { limits = {} } = root;
  const own: Record<string, number> = {};
  for (const [name, { limit, read, range, usual }] of Object.entries(NAMED_LIMITS)) {
    const value = read(root[name], `options.${name}`, range, problems);
    const other = (limits as Fields | null)?.[limit];
    if (root[name] !== undefined && other !== undefined) {
      problems.push(`options.${name} and options.limits.${limit} exclude each other`);
    }
    if (other === undefined) own[limit] = value ?? usual;
  }
  if (typeof limits !== 'object' || limits === null || Array.isArray(limits)) return limits;
  const { controlBytes = 0 } = own;
  // control messages are messages, too
  if (controlBytes > MESSAGE_BYTES && (limits as Fields)['messageBytes'] === undefined)
    own['messageBytes'] = controlBytes;
  return { ...limits, ...own };
}

/** Checks that a listener that other machines can reach does not let every client reach every host by mistake. */
function checkListener(listener: unknown, at: string, problems: string[]): void {
  if (typeof listener !== 'object' || listener === null) return;
  const { address, protocol, allowedHostnames, anyTarget, localTargets } = listener as Fields;
  if (localTargets !== undefined) problems.push(`unknown option ${at}.localTargets`);
  if (protocol !== splice.name) {
    problems.push(`${at}.protocol must be ${choice([splice.name])}, not ${shown(protocol)}`);
  }
  const isListed = Array.isArray(allowedHostnames) ? allowedHostnames.length > 0 : allowedHostnames !== undefined;
  if (typeof address !== 'string' || !isAddress(address) || isLocal(address)) return;
  if (isListed || anyTarget === true) return;
  problems.push(
    `${at} is ${shown(address)}, which is not a loopback address: it needs allowedHostnames, or anyTarget: true to let every client reach any host (createSplice has no handleSpliceConnect)`,
  );
}

/** Refuses texts without a host name. An empty environment variable, for example, must not allow every host. */
function checkHosts(fields: unknown, at: string, problems: string[]): void {
  if (typeof fields !== 'object' || fields === null) return;
  const { allowedHostnames } = fields as Fields;
  const texts: unknown[] = Array.isArray(allowedHostnames) ? allowedHostnames : [allowedHostnames];
  const blank = texts.find((text) => typeof text === 'string' && hostsOf(text).length === 0);
  if (blank !== undefined) problems.push(`${at}.allowedHostnames must name a host in every text, not ${shown(blank)}`);
}

/** The host names in a text of the allowlist. */
export function hostsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((name) => name !== '');
}

/** Options with names of wsplice: the limits that they set, and the defaults of wsplice. */
const NAMED_LIMITS = {
  frameSizeLimit: { limit: 'controlBytes', read: readSize, range: SPLICE_RANGES.controlBytes, usual: 5 * 1024 * 1024 },
  writeTimeout: { limit: 'writeTimeoutMs', read: readDuration, range: GATEWAY_RANGES.writeTimeoutMs, usual: 5_000 },
  dialTimeout: { limit: 'dialTimeoutMs', read: readDuration, range: SPLICE_RANGES.dialTimeoutMs, usual: 10_000 },
} as const;

/** The default of the limit `messageBytes`. */
const MESSAGE_BYTES = 16 * 1024 * 1024;

const LISTENER_KEYS: readonly string[] = [...splice.keys.filter((key) => key !== 'localTargets'), 'proxyProtocol'];
const START_KEYS = ['trustProxy', 'reusePort', 'ioThreads', 'ioUring', 'stopOnSignals', 'onError', 'onLog', 'logLevel'];
const KEYS = ['bind', 'tls', 'limits', ...Object.keys(NAMED_LIMITS), ...LISTENER_KEYS, ...START_KEYS];
