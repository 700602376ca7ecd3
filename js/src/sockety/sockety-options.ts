/**
 * The options of servers and clients: their types, and the parsers, which report every problem at once. Opens no
 * connection. Over 400 lines because servers and clients share most of them.
 */

import type { NetConnectOpts } from 'node:net';
import { rootCertificates } from 'node:tls';

import type { DrainOptions } from '../gateway/signals.js';
import { type Fields, NOTHING, readFlag, readNumber, readObject, shown } from '../options/fields.js';
import { readDrainOnSignals } from '../options/server-options.js';
import { loadTls, readTls, type TlsIdentity, type TlsPlan, type TlsSource } from '../options/tls.js';
import { SocketyError } from './sockety-errors.js';
import { MOST_DATA } from './sockety-worker.js';

/** Options of every connection. */
export interface ConnectionOptions {
  /** How many messages may be received at the same time: 1 to 4096. Default 4096. */
  maxReceivedChannels?: number;
  /** How many messages are sent at the same time: 1 to 4096. Default 4096. */
  maxWritableChannels?: number;
  /**
   * After how many milliseconds without input the connection is closed. A heartbeat is sent after three quarters of
   * that time without output. 0 turns both off. Default 60,000.
   */
  timeout?: number;
  /** How many milliseconds the header of the other side may take; 0 is unlimited. Default 10,000. */
  connectTimeout?: number;
  /**
   * Whether a channel on which this side aborted a message is used again. If the other side is sockety-js, that ends
   * its process; Millrace frees such channels. Default false: the channel is used again only after the other side has
   * aborted a message itself, which sockety-js never does.
   */
  reuseAbortedChannels?: boolean;
  /**
   * Whether the size of a file may differ from the announced size. Default false: such a file closes the connection.
   */
  allowFilesSizeMismatch?: boolean;
  /** The size limit of a message's head, in bytes: its action, sizes and file names. Default 1 MiB. */
  maxHeaderSize?: number;
  /** The most files of one message. Default 10,000. */
  maxFiles?: number;
  /** The most bytes that `dataBuffer` and `msgpack` collect. Default 16 MiB. */
  maxDataSize?: number;
  /** The most bytes of contents that wait to be read on the native side. Default 16 MiB. */
  maxBufferedBytes?: number;
  /** Whether the other side is told before the connection is closed. Default true. */
  sendGoAway?: boolean;
  /** Whether small writes are sent at once (`TCP_NODELAY`). Default true. */
  noDelay?: boolean;
  /** Whether the system checks that a silent peer is still there (TCP keep-alive). Default true. */
  keepAlive?: boolean;
  /** Accepted for compatibility with sockety-js. Has no effect. */
  immediateFlushBytes?: number;
  /** Accepted for compatibility with sockety-js. Has no effect. */
  maxInlineUtf8Bytes?: number;
  /** Accepted for compatibility with sockety-js. Has no effect. */
  maxInlineBufferBytes?: number;
}

/** Options of `createServer`. */
export interface ServerOptions extends ConnectionOptions {
  /**
   * Whether SIGINT and SIGTERM stop the server, as its method `stopOnSignals()` does; an object has the options of that
   * method. Default false.
   */
  stopOnSignals?: boolean | DrainOptions;
}

/** Options of `createSecureServer`. */
export interface SecureServerOptions extends ServerOptions, Partial<TlsIdentity> {
  /** Certificates by the name that a client asks for: `'a.example'` or `'*.example'`. */
  names?: Record<string, TlsIdentity>;
  /** Whether clients are asked for a certificate. Default false. */
  requestCert?: boolean;
  /**
   * Whether clients without a certificate are refused, with `requestCert`. Default true. Invalid certificates are
   * always refused.
   */
  rejectUnauthorized?: boolean;
  /** The authorities that must have signed client certificates. Default: the runtime's own list. */
  ca?: TlsSource | TlsSource[];
  /** The ALPN protocols, the preferred first. Default: no protocol is negotiated. */
  ALPNProtocols?: string[];
}

/** Options of `server.listen`. */
export interface ListenOptions {
  /** The port. Default 0, which picks a free one. */
  port?: number;
  /** A host name or an address. Default: every interface. */
  host?: string;
  /** The path of a unix socket, in place of port and host. */
  path?: string;
  /** How many connections the system queues until they are accepted. Default 4,096. */
  backlog?: number;
  /** A signal that closes the server. */
  signal?: AbortSignal;
}

/** Options of `connect`. */
export interface ConnectOptions extends ConnectionOptions {
  /** The port. Required unless there is a `path`. */
  port?: number;
  /** A host name or an address. Default `'localhost'`. */
  host?: string;
  /** The path of a unix socket, in place of port and host. */
  path?: string;
  /** 4 or 6: only addresses of that family. Default 0: both. */
  family?: NonNullable<Extract<NetConnectOpts, { port: number }>['family']>;
  /** The local address to connect from. */
  localAddress?: string;
  /** A signal that gives up the attempt, or closes the connection. */
  signal?: AbortSignal;
}

/** Options of `secureConnect`. */
export interface SecureConnectOptions extends ConnectOptions, Partial<TlsIdentity> {
  /** The authorities that must have signed the server's certificate. Default: the runtime's own list. */
  ca?: TlsSource | TlsSource[];
  /** The name that the server's certificate must have. Default: `host`. */
  servername?: string;
  /** Whether a server with an invalid certificate is refused. Default true. */
  rejectUnauthorized?: boolean;
  /** The ALPN protocols, the preferred first. Default: no protocol is negotiated. */
  ALPNProtocols?: string[];
}

/** The options of connections in the form of the native side, and those that only JavaScript uses. */
export interface Terms {
  readonly config: Record<string, unknown>;
  readonly maxDataSize: number;
  readonly connectTimeout: number;
}

/** Checked options of a server. */
export interface ServerPlan {
  readonly terms: Terms;
  /** Undefined: no TLS. */
  readonly tls: { readonly plan: TlsPlan; readonly alpn: readonly string[] } | undefined;
  readonly stopOnSignals: boolean | DrainOptions | undefined;
}

/** Checked options of a client. */
export interface ClientPlan {
  readonly terms: Terms;
  readonly to:
    | { readonly path: string }
    | { readonly host: string; readonly port: number; readonly family: 0 | 4 | 6; readonly local: string | undefined };
  readonly signal: AbortSignal | undefined;
  /** Undefined: no TLS. */
  readonly tls: ClientTlsPlan | undefined;
}

/** The TLS options of a client. */
export interface ClientTlsPlan {
  readonly plan: TlsPlan;
  readonly serverName: string;
  readonly acceptAny: boolean;
  readonly alpn: readonly string[];
}

/**
 * Checks the options of `createServer` or, if `isSecure`, of `createSecureServer`.
 *
 * @throws {TypeError} naming every problem
 * @throws {Error} for an invalid number of channels
 */
export function parseServer(value: unknown, isSecure: boolean): ServerPlan {
  const problems: string[] = [];
  const keys = [...CONNECTION_KEYS, 'stopOnSignals', ...(isSecure ? SECURE_SERVER_KEYS : [])];
  const options = value === undefined ? NOTHING : readObject(value, 'options', keys, problems);
  const terms = readTerms(options, true, problems);
  readDrainOnSignals(options['stopOnSignals'], problems);
  const stopOnSignals = options['stopOnSignals'] as boolean | DrainOptions | undefined;
  if (!isSecure) {
    refuse(problems);
    return { terms, tls: undefined, stopOnSignals };
  }
  const asks = readFlag(options['requestCert'], 'options.requestCert', problems) ?? false;
  const refuses = readFlag(options['rejectUnauthorized'], 'options.rejectUnauthorized', problems) ?? true;
  const { cert, key, names } = options;
  const clients = asks ? { clientCertificates: refuses ? 'required' : 'optional', ca: authorities(options) } : {};
  const plan = readTls({ cert, key, names, ...clients }, 'options', problems);
  const alpn = readAlpn(options['ALPNProtocols'], problems);
  refuse(problems);
  return { terms, tls: { plan: plan as TlsPlan, alpn }, stopOnSignals };
}

/**
 * Checks the arguments of `connect` or, if `isSecure`, of `secureConnect`.
 *
 * @throws {TypeError} naming every problem
 * @throws {Error} for an invalid number of channels
 */
export function parseConnect(given: readonly unknown[], isSecure: boolean): ClientPlan {
  const problems: string[] = [];
  const { address, rest } = splitAddress(given, 'connect');
  const keys = [...CONNECTION_KEYS, ...CONNECT_KEYS, ...(isSecure ? SECURE_CONNECT_KEYS : [])];
  const options: Fields = { ...readObject(rest ?? {}, 'options', keys, problems), ...address };
  const terms = readTerms(options, false, problems);
  const signal = readSignal(options['signal'], problems);
  const to = readTarget(options, problems);
  if (!isSecure) {
    refuse(problems);
    return { terms, to, signal, tls: undefined };
  }
  const acceptAny = readFlag(options['rejectUnauthorized'], 'options.rejectUnauthorized', problems) === false;
  const serverName = readText(options['servername'], 'options.servername', problems);
  const alpn = readAlpn(options['ALPNProtocols'], problems);
  const plan = readClientTls(options, problems);
  refuse(problems);
  const name = serverName ?? ('host' in to ? to.host : 'localhost');
  return { terms, to, signal, tls: { plan, serverName: name, acceptAny, alpn } };
}

/** The arguments of `server.listen`, without a callback. */
export interface ListenPlan {
  readonly to: { readonly path: string } | { readonly host: string | undefined; readonly port: number };
  readonly backlog: number | undefined;
  readonly signal: AbortSignal | undefined;
}

/**
 * Checks the arguments of `server.listen`.
 *
 * @throws {TypeError} naming every problem
 */
export function parseListen(given: readonly unknown[]): ListenPlan {
  const problems: string[] = [];
  const options = readListen(given, problems);
  const backlog = readNumber(options['backlog'] ?? undefined, 'options.backlog', BACKLOGS, problems);
  const signal = readSignal(options['signal'], problems);
  const path = readText(options['path'], 'options.path', problems);
  const port = readPort(options['port'] ?? 0, problems);
  const host = readText(options['host'] ?? undefined, 'options.host', problems);
  refuse(problems);
  return { to: path === undefined ? { port, host } : { path }, backlog, signal };
}

function readListen(given: readonly unknown[], problems: string[]): Fields {
  const [first, second, third] = given;
  const isObject = typeof first === 'object' && first !== null;
  const hasHost = !isObject && !isPath(first) && typeof second !== 'number';
  refuseMore(given, isObject ? 1 : hasHost ? 3 : 2, 'listen');
  if (isObject) return readObject(first, 'options', LISTEN_KEYS, problems);
  if (hasHost) return { port: first, host: second, backlog: third };
  return isPath(first) ? { path: first, backlog: second } : { port: first, backlog: second };
}

/** The TLS options of a client in the form of the native side, with the contents of its files. */
export async function loadClientTls(tls: ClientTlsPlan): Promise<Record<string, unknown>> {
  const { cert, key, ca } = await loadTls(tls.plan);
  return { serverName: tls.serverName, acceptAny: tls.acceptAny, alpn: tls.alpn, cert, key, ca };
}

const CONNECTION_KEYS = [
  'maxReceivedChannels',
  'maxWritableChannels',
  'reuseAbortedChannels',
  'timeout',
  'connectTimeout',
  'allowFilesSizeMismatch',
  'maxHeaderSize',
  'maxFiles',
  'maxDataSize',
  'maxBufferedBytes',
  'sendGoAway',
  'noDelay',
  'keepAlive',
  'immediateFlushBytes',
  'maxInlineUtf8Bytes',
  'maxInlineBufferBytes',
];
const TLS_KEYS = ['cert', 'key', 'ca', 'rejectUnauthorized', 'ALPNProtocols'];
const SECURE_SERVER_KEYS = [...TLS_KEYS, 'names', 'requestCert'];
const CONNECT_KEYS = ['port', 'host', 'path', 'family', 'localAddress', 'signal'];
const SECURE_CONNECT_KEYS = [...TLS_KEYS, 'servername'];
const LISTEN_KEYS = ['port', 'host', 'path', 'backlog', 'signal'];

const DAY_MS = 86_400_000;
const TIMES = { least: 0, most: DAY_MS };
const SIZES = { least: 1, most: 2 ** 40 };
const HEADER_SIZES = { least: 64, most: 4 * 1024 * 1024 };
const FILE_COUNTS = { least: 0, most: 65_536 };
const TUNING = { least: 0, most: Number.MAX_SAFE_INTEGER };
const BACKLOGS = { least: 0, most: 2 ** 31 - 1 };
const MOST_CHANNELS = 4096;
const CONNECT_MS = 10_000;

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw new TypeError(problems.join('; '));
}

/** `waits`: the native side enforces the time limit for the header of the other side. */
function readTerms(options: Fields, waits: boolean, problems: string[]): Terms {
  const number = (name: string, range: { least: number; most: number }) =>
    readNumber(options[name], `options.${name}`, range, problems);
  const flag = (name: string) => readFlag(options[name], `options.${name}`, problems);
  for (const name of ['immediateFlushBytes', 'maxInlineUtf8Bytes', 'maxInlineBufferBytes']) number(name, TUNING);
  const connectTimeout = number('connectTimeout', TIMES) ?? CONNECT_MS;
  const limits = {
    messageHeadBytes: number('maxHeaderSize', HEADER_SIZES),
    filesPerMessage: number('maxFiles', FILE_COUNTS),
    bufferedBytes: number('maxBufferedBytes', SIZES),
    silenceTimeoutMs: number('timeout', TIMES),
    headerTimeoutMs: waits ? connectTimeout : 0,
  };
  const own = {
    maxReceivedChannels: readChannels(options['maxReceivedChannels']),
    maxWritableChannels: readChannels(options['maxWritableChannels']),
    reuseAbortedChannels: flag('reuseAbortedChannels'),
    allowFilesSizeMismatch: flag('allowFilesSizeMismatch'),
    sendGoAway: flag('sendGoAway'),
    noDelay: flag('noDelay'),
    keepAlive: flag('keepAlive'),
  };
  return {
    // these connections have no subscriptions, so all channels are free for their messages
    config: { protocol: 'sockety', options: defined({ ...own, publications: false }), limits: defined(limits) },
    maxDataSize: number('maxDataSize', SIZES) ?? MOST_DATA,
    connectTimeout,
  };
}

function defined(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function readChannels(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  if (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MOST_CHANNELS) return Number(value);
  throw new SocketyError('ERR_SOCKETY_INVALID', 'Invalid number of channels');
}

function readSignal(value: unknown, problems: string[]): AbortSignal | undefined {
  if (value === undefined || value instanceof AbortSignal) return value;
  problems.push(`options.signal must be an AbortSignal, not ${shown(value)}`);
  return undefined;
}

function readText(value: unknown, at: string, problems: string[]): string | undefined {
  if (value === undefined || (typeof value === 'string' && value !== '' && !value.includes('\0'))) return value;
  problems.push(`${at} must be a string that is not empty, not ${shown(value)}`);
  return undefined;
}

function readPort(value: unknown, problems: string[]): number {
  const number = typeof value === 'string' && /^[0-9]{1,5}$/.test(value) ? Number(value) : value;
  if (typeof number === 'number' && Number.isInteger(number) && number >= 0 && number <= 65_535) return number;
  problems.push(`options.port must be a whole number from 0 to 65535, not ${shown(value)}`);
  return 0;
}

function readAlpn(value: unknown, problems: string[]): readonly string[] {
  if (value === undefined) return [];
  const fits = (name: unknown) => typeof name === 'string' && name !== '' && Buffer.byteLength(name) <= 255;
  if (Array.isArray(value) && value.every(fits)) return value as string[];
  problems.push(`options.ALPNProtocols must be an array of names with 1 to 255 bytes, not ${shown(value)}`);
  return [];
}

function readTarget(options: Fields, problems: string[]): ClientPlan['to'] {
  const path = readText(options['path'], 'options.path', problems);
  const family = options['family'] ?? 0;
  if (family !== 0 && family !== 4 && family !== 6)
    problems.push(`options.family must be 0, 4 or 6, not ${shown(family)}`);
  const local = readText(options['localAddress'], 'options.localAddress', problems);
  if (path !== undefined) return { path };
  const host = readText(options['host'] ?? undefined, 'options.host', problems) ?? 'localhost';
  if (options['port'] === undefined) problems.push('options.port or options.path is required');
  const port = readPort(options['port'] ?? 0, problems);
  return { host, port, family: family as 0 | 4 | 6, local };
}

/** The certificates of a client, and the authorities that it trusts, in the form of a listener's options. */
function readClientTls(options: Fields, problems: string[]): TlsPlan {
  const { cert, key } = options;
  const shows = cert !== undefined || key !== undefined;
  const own = shows ? { cert, key } : { names: {} };
  const plan = readTls({ ...own, clientCertificates: 'optional', ca: authorities(options) }, 'options', problems);
  return plan as TlsPlan;
}

function authorities({ ca }: Fields): unknown {
  return ca ?? rootCertificates.join('\n');
}

/** Splits the arguments into an address, which is a port and host or a path, and the options. */
function splitAddress(given: readonly unknown[], name: string): { address: Fields; rest: unknown } {
  const [first, second, third] = given;
  if (first === undefined) throw new TypeError(`${name} needs options, a port or a path`);
  if (typeof first === 'object' && first !== null) {
    refuseMore(given, 1, name);
    return { address: {}, rest: first };
  }
  if (isPath(first)) {
    refuseMore(given, 2, name);
    return { address: { path: first }, rest: second };
  }
  const isOptions = (second ?? undefined) !== undefined && typeof second !== 'string';
  refuseMore(given, isOptions ? 2 : 3, name);
  return typeof second === 'string'
    ? { address: { port: first, host: second }, rest: third }
    : { address: { port: first }, rest: isOptions ? second : third };
}

/** Refuses further arguments, which would have no effect. */
function refuseMore(given: readonly unknown[], known: number, name: string): void {
  const more = given.slice(known).find((value) => value !== undefined);
  if (more !== undefined) throw new TypeError(`${name} takes no further argument here, but was given ${shown(more)}`);
}

/** As in Node.js, a string that is not a number is a path. */
function isPath(value: unknown): value is string {
  return typeof value === 'string' && !/^[0-9]+$/.test(value);
}
