/** The options of `createSplice`: their types, and the parser that makes options of `start` of them. Starts nothing. */

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

/** Options of splice, but for those that need workers. */
export type SpliceTerms = Omit<SpliceOptions, 'protocol' | 'localTargets'>;

/** An address to listen on, with options of its own. */
export interface SpliceListener extends SpliceTerms, Omit<ListenerOptions<SpliceListenerLimits>, 'tls'> {
  /** There is no other. */
  protocol?: 'splice';
  /** As in `SpliceServerOptions`, for this listener; `false` is plain. */
  tls?: SpliceTlsOptions | false;
}

/** TLS on a listener. With `ca`, and unless `clientCertificates` says otherwise, clients without a certificate of it are refused. */
export type SpliceTlsOptions = TlsOptions;

/** Options of `createSplice`. Those of a listener are for all listeners that do not have their own. */
export interface SpliceServerOptions extends SpliceTerms {
  /** Where to listen, as in `start`: an address, an address with options of its own, or several. */
  bind: string | SpliceListener | (string | SpliceListener)[];
  /** TLS on every listener that does not say otherwise: `wss:`. Default: plain. */
  tls?: SpliceTlsOptions;
  /** The longest control message, without its index: `limits.controlBytes`. Default `'5MB'`. */
  frameSizeLimit?: Size;
  /** Time without progress of a blocked write, to clients and to targets: `limits.writeTimeoutMs`. Default `'5s'`. */
  writeTimeout?: Duration;
  /** Time in which a target must be reached, its handshake included: `limits.dialTimeoutMs`. Default `'10s'`. */
  dialTimeout?: Duration;
  /** Bounds. A `frameSizeLimit` above 16 MiB is that of `messageBytes`, too, where this is not given. */
  limits?: SpliceListenerLimits & GatewayLimits;
  /** Proxies whose `X-Forwarded-For` or `Forwarded` is believed, as in `start`. */
  trustProxy?: string[];
  /** Whether every connection begins with a header of the PROXY protocol, as on a listener of `start`. */
  proxyProtocol?: boolean;
  /** Whether other processes may listen on the same TCP port, if they ask for it, too. Not on Windows. Default false. */
  reusePort?: boolean;
  /** I/O threads, 1 to 64. Default: the available parallelism. */
  ioThreads?: number;
  /** Whether writes to many connections go to the kernel together, by io_uring. Default true. */
  ioUring?: boolean;
  /** Whether SIGINT and SIGTERM stop it, as in `start`. Default false. */
  stopOnSignals?: boolean | StopOptions;
  /** Told about errors that have nobody to be thrown to. Default: they are printed to the standard error output. */
  onError?(error: MillraceError): void;
  /** Given the lines of the log, as in `start`. */
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
  // what is wrong with these is told once, not for each listener
  splice.read(shared, 'options', undefined, { http: {} }, problems);
  readProxy(root, 'options', {}, problems);
  const rest = {
    ...picked(root, START_KEYS),
    tls: requiring(root['tls']),
    limits: readLimits(root, problems),
    // no worker has anything to do with a session
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
    // an address alone has no path of its own in what is told
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

/** TLS in which an authority of clients is for no clients but its own. */
export function requiring(tls: unknown): unknown {
  const { ca, clientCertificates } = (tls ?? {}) as Fields;
  return ca === undefined || clientCertificates !== undefined
    ? tls
    : { ...(tls as Fields), clientCertificates: 'required' };
}

/** What is given of these. */
function picked(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(names.map((name) => [name, fields[name]]).filter(([, value]) => value !== undefined));
}

/** A listener as `start` has it; anything else stays as it is. */
function listenerOf(entry: unknown): unknown {
  if (typeof entry === 'string') return { address: entry, protocol: splice.name };
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return entry;
  const given = picked(entry as Fields, Object.keys(entry));
  const { tls } = given;
  return { protocol: splice.name, ...given, ...(tls !== undefined && { tls: requiring(tls) }) };
}

/** The limits, those that have names of their own among them. */
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
  // control messages are messages
  if (controlBytes > MESSAGE_BYTES && (limits as Fields)['messageBytes'] === undefined)
    own['messageBytes'] = controlBytes;
  return { ...limits, ...own };
}

/** Who may be reached by whom: a listener that others can reach must not reach everybody by mistake. */
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
    `${at} is ${shown(address)}, which is no loopback address: it needs allowedHostnames, or anyTarget: true to let everybody reach any host (createSplice has no handleSpliceConnect)`,
  );
}

/** A text without a name, an empty variable of the environment perhaps, does not mean that every host is allowed. */
function checkHosts(fields: unknown, at: string, problems: string[]): void {
  if (typeof fields !== 'object' || fields === null) return;
  const { allowedHostnames } = fields as Fields;
  const texts: unknown[] = Array.isArray(allowedHostnames) ? allowedHostnames : [allowedHostnames];
  const blank = texts.find((text) => typeof text === 'string' && hostsOf(text).length === 0);
  if (blank !== undefined) problems.push(`${at}.allowedHostnames must name a host in every text, not ${shown(blank)}`);
}

/** The names in a text of an allowlist. */
export function hostsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((name) => name !== '');
}

/** Options with names of the original, the limits they are, and its defaults. */
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
