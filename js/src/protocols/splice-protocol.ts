/** The parser of the options of a listener for splice. Reads the certificates of authorities; does not know the wire format. */

import { existsSync, readFileSync } from 'node:fs';
import * as tls from 'node:tls';

import { choice, type Fields, readFlag, shown } from '../options/fields.js';
import { HTTP_RANGES, SPLICE_RANGES } from '../options/limits.generated.js';
import { readAuthorities } from '../options/tls.js';
import { readHttp } from './http-protocol.js';
import type { ProtocolModule } from './protocol.js';
import type { SpliceEventName, SplicePlan } from './splice-listener.js';

/** The names of the paths that report the gateway's state. */
const PAGES = ['stats', 'metrics', 'health', 'ready'] as const;

/** See `ProtocolModule`. */
export const splice = {
  name: 'splice',
  keys: [
    'allowedHostnames',
    'anyTarget',
    'privateTargets',
    'targetCa',
    'targetCompression',
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
    const compression = readFlag(listener['targetCompression'], `${at}.targetCompression`, problems);
    if (compression !== undefined) plan.targetCompression = compression;
    const localTargets = readFlag(listener['localTargets'], `${at}.localTargets`, problems);
    if (localTargets !== undefined) plan.localTargets = localTargets;
    const binary = readFlag(listener['binary'], `${at}.binary`, problems);
    if (binary !== undefined) plan.binary = binary;
    const eventName = readName(listener['eventName'], `${at}.eventName`, problems);
    if (eventName !== undefined) plan.eventName = eventName;
    return plan;
  },
  worker(host) {
    // loaded on demand, because most workers never get a call of splice
    const own: typeof import('../splice/splice-worker.js') = require('../splice/splice-worker.js');
    return own.spliceWorker(host);
  },
} as const satisfies ProtocolModule<SplicePlan>;

const EVENT_NAMES: readonly string[] = ['onSocketDisconnect', 'onSocketClosed'] satisfies SpliceEventName[];

/** The options that HTTP has, too. */
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

/** The platform's certificate authorities and the given ones, as PEM. */
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

/** The authorities of the runtime and of the system. */
function platformAuthorities(): Uint8Array[] {
  const { getCACertificates } = tls as { getCACertificates?(type: string): readonly string[] };
  // some runtimes have the function but no system store
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

/** Files in which systems keep their certificate authorities. */
const BUNDLES = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt', '/etc/ssl/cert.pem'];
