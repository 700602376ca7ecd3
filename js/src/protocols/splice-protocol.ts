/** The options of a listener for splice: their types and their parser. Reads the certificates of authorities; knows no wire. */

import { existsSync, readFileSync } from 'node:fs';
import * as tls from 'node:tls';

import { choice, type Fields, readFlag, shown } from '../options/fields.js';
import { HTTP_RANGES, SPLICE_RANGES } from '../options/limits.generated.js';
import { readAuthorities, type TlsSource } from '../options/tls.js';
import { type Origins, readHttp } from './http-protocol.js';
import type { ProtocolModule } from './protocol.js';

/** Options of a listener with `protocol: 'splice'`. */
export interface SpliceOptions {
  /** Many WebSockets of a client in one, as wsplice has it. */
  protocol: 'splice';
  /**
   * Hosts that clients may have connections to: names and addresses without a port, each text split at white space and commas,
   * compared without case. `*` and resolution there are none. An address that is listed, and `localhost`, may be one that
   * is not public. Default: none is listed, and nothing is reached without `anyTarget` or `handleSpliceConnect`.
   */
  allowedHostnames?: string | string[];
  /** Whether every host may be reached where none is listed. Default: true on loopback addresses and unix sockets, else false. */
  anyTarget?: boolean;
  /**
   * Whether addresses that are not public may be reached: those of this machine, of private networks and the others of IANA's
   * special-purpose registries. Default false: only those that are listed as such.
   */
  privateTargets?: boolean;
  /** Authorities whose certificates `wss:` targets may have, beside the platform's: PEM, or the path or `file:` URL of a PEM file. */
  targetCa?: TlsSource | TlsSource[];
  /** Which browser origins may connect. Default `'same-host'`. */
  origins?: Origins;
  /**
   * Whether `millrace:/path?query` is a target: a WebSocket of this gateway on that path, with `handleOpen` and all handlers, as if
   * the client had opened it by itself. Default false.
   */
  localTargets?: boolean;
  /** Whether all relayed messages are binary towards the client. Default false: those of text are, where index and text are UTF-8. */
  binary?: boolean;
  /** The name of the event that tells of a target's end. Default `'onSocketDisconnect'`; the program wsplice says `'onSocketClosed'`. */
  eventName?: SpliceEventName;
  /** `GET` of this path answers with the counters of `stats()` as JSON; `true` is `"/stats"`. Default `false`. */
  stats?: boolean | string;
  /** `GET` of this path answers with metrics as Prometheus reads them; `true` is `"/metrics"`. Default `false`. */
  metrics?: boolean | string;
  /** As on a listener that speaks HTTP. Default `false`. */
  health?: boolean | string;
  /** As on a listener that speaks HTTP. Default: that of `health`. */
  ready?: boolean | string;
}

/** How the event is called that tells of a target's end. */
export type SpliceEventName = 'onSocketDisconnect' | 'onSocketClosed';

/** What `handleSpliceConnect` may answer: `false` refuses with 4006; a URL, or one and headers, takes the place of the client's. */
export type SpliceAnswer = boolean | string | SpliceTarget | undefined | null | void;

/** A target in the place of the one that a client wants. */
export interface SpliceTarget {
  /** Default: the client's. */
  url?: string;
  /** All headers of the handshake beside its own. Default: the client's. */
  headers?: Record<string, string>;
}

/** Handlers of a worker module for listeners with `protocol: 'splice'`. */
export interface SpliceHandlers<Token = Uint8Array> {
  /**
   * A client wants a connection to this URL with these headers, whose names are in lower case. May refuse it or have another one
   * made. Where no host is listed, hosts that it accepts may be reached; addresses that are not public only with
   * `privateTargets`. Other calls of the session do not wait for a promise. Throwing fails the call and closes the session with 1011.
   */
  handleSpliceConnect?(
    url: string,
    headers: Record<string, string>,
    socketId: number,
    token?: Token,
  ): SpliceAnswer | Promise<SpliceAnswer>;
}

/** What the native side is told. */
export interface SplicePlan {
  allowedHostnames: string[];
  anyTarget: boolean;
  privateTargets: boolean;
  ca: Uint8Array;
  origins: Origins;
  localTargets?: boolean;
  binary?: boolean;
  eventName?: SpliceEventName;
  stats?: string;
  metrics?: string;
  health?: string;
  ready?: string;
}

/** Paths that show something of the gateway. */
const PAGES = ['stats', 'metrics', 'health', 'ready'] as const;

/** See `ProtocolModule`. */
export const splice = {
  name: 'splice',
  keys: [
    'allowedHostnames',
    'anyTarget',
    'privateTargets',
    'targetCa',
    'origins',
    'localTargets',
    'binary',
    'eventName',
    ...PAGES,
  ],
  limits: { ...HTTP_RANGES, ...SPLICE_RANGES },
  read(listener, at, address, _defaults, problems) {
    const { origins, stats, metrics, health, ready } = readHttp(pick(listener), at, {}, problems);
    const pages = Object.entries({ stats, metrics, health, ready }).filter(([, path]) => path !== undefined);
    const plan: SplicePlan = {
      ...Object.fromEntries(pages),
      allowedHostnames: readHosts(listener['allowedHostnames'], `${at}.allowedHostnames`, problems),
      anyTarget: readFlag(listener['anyTarget'], `${at}.anyTarget`, problems) ?? isLocal(address),
      privateTargets: readFlag(listener['privateTargets'], `${at}.privateTargets`, problems) ?? false,
      ca: authorities(listener['targetCa'], `${at}.targetCa`, problems),
      origins: origins ?? 'same-host',
    };
    const localTargets = readFlag(listener['localTargets'], `${at}.localTargets`, problems);
    if (localTargets !== undefined) plan.localTargets = localTargets;
    const binary = readFlag(listener['binary'], `${at}.binary`, problems);
    if (binary !== undefined) plan.binary = binary;
    const eventName = readName(listener['eventName'], `${at}.eventName`, problems);
    if (eventName !== undefined) plan.eventName = eventName;
    return plan;
  },
  worker(host) {
    // loaded here, because most workers never hear of splice
    const own: typeof import('../splice/splice-worker.js') = require('../splice/splice-worker.js');
    return own.spliceWorker(host);
  },
} as const satisfies ProtocolModule<SplicePlan>;

const EVENT_NAMES: readonly string[] = ['onSocketDisconnect', 'onSocketClosed'] satisfies SpliceEventName[];

/** What HTTP has too. */
function pick({ origins, stats, metrics, health, ready }: Fields): Fields {
  return { origins, stats, metrics, health, ready };
}

function readHosts(value: unknown, at: string, problems: string[]): string[] {
  if (value === undefined) return [];
  const all: unknown[] = Array.isArray(value) ? value : [value];
  if (all.every((one) => typeof one === 'string')) return all;
  problems.push(`${at} must be a string or an array of strings, not ${shown(value)}`);
  return [];
}

function readName(value: unknown, at: string, problems: string[]): SpliceEventName | undefined {
  if (value === undefined || (typeof value === 'string' && EVENT_NAMES.includes(value))) return value as undefined;
  problems.push(`${at} must be ${choice(EVENT_NAMES)}, not ${shown(value)}`);
  return undefined;
}

/** Whether only this machine can reach a listener. */
export function isLocal(address: unknown): boolean {
  return typeof address === 'string' && /^(?:127\.|localhost:|\[::1\]:|unix:)/i.test(address);
}

/** The authorities of the platform, and those that are given, as PEM. */
function authorities(value: unknown, at: string, problems: string[]): Uint8Array {
  const given = readAuthorities(value, at, problems).flatMap((source) => {
    if (typeof source.from !== 'string') return [source.from];
    try {
      return [readFileSync(source.from)];
    } catch (error) {
      problems.push(`${source.at} cannot be read: ${(error as Error).message}`);
      return [];
    }
  });
  return Buffer.concat([...platformAuthorities(), ...given].flatMap((pem) => [pem, LINE_BREAK]));
}

/** Those that the runtime comes with, and the system's. */
function platformAuthorities(): Uint8Array[] {
  const { getCACertificates } = tls as { getCACertificates?(type: string): readonly string[] };
  // some runtimes have the function and no such store
  const system = attempt(() => getCACertificates?.('system'));
  const file = system === undefined ? BUNDLES.find((path) => existsSync(path)) : undefined;
  const bundle = file === undefined ? undefined : attempt(() => readFileSync(file));
  const texts = [...tls.rootCertificates, ...(system ?? [])];
  return bundle === undefined ? [Buffer.from(texts.join('\n'))] : [Buffer.from(texts.join('\n')), bundle];
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

const LINE_BREAK = Buffer.from('\n');

/** Where systems keep them. */
const BUNDLES = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt', '/etc/ssl/cert.pem'];
