/**
 * The TLS options: their types, their parser, and the code that reads the files they name. Does not look into
 * certificates.
 */

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { MillraceError } from '../errors.js';
import { NOTHING, readObject, shown } from './fields.js';

/**
 * Data in PEM: a string that holds it (`-----BEGIN …`), its bytes, or the path or `file:` URL of a file.
 * `server.reloadTls()` reads the file again.
 */
export type TlsSource = string | URL | Uint8Array;

/** A certificate and its key. */
export interface TlsIdentity {
  /** The certificate, followed by the intermediate certificates up to its authority. */
  cert: TlsSource;
  /** The private key. It must not have a password. */
  key: TlsSource;
}

/** TLS on a listener. */
export interface TlsOptions extends Partial<TlsIdentity> {
  /**
   * Certificates by the name that a client asks for: `'a.example'` or `'*.example'`. All other names get `cert` and
   * `key`; without these, their handshakes are refused.
   */
  names?: Record<string, TlsIdentity>;
  /**
   * Whether clients are asked for a certificate. `'required'` refuses clients without one. Both values refuse a
   * certificate that no authority in `ca` has signed. `handleOpen` gets the certificate as `request.clientCertificate`.
   */
  clientCertificates?: 'optional' | 'required';
  /** The authorities that must have signed client certificates. */
  ca?: TlsSource | TlsSource[];
  /** The lowest TLS version that clients may use. Default `'TLSv1.2'`. */
  minVersion?: 'TLSv1.2' | 'TLSv1.3';
  /** Whether clients may choose HTTP/2, including WebSockets over HTTP/2. Default true. */
  http2?: boolean;
}

/** A source of PEM, and the name of its option. */
export interface Source {
  at: string;
  from: Uint8Array | string;
}

interface Sources {
  cert: Source;
  key: Source;
}

/** Checked options. Their files have not been read yet. */
export interface TlsPlan {
  identity: Sources | undefined;
  names: ({ name: string } & Sources)[];
  ca: Source[];
  clientCertificates: 'optional' | 'required' | undefined;
  only13: boolean;
  http2: boolean;
}

/** The TLS options of the native side, with PEM as bytes. */
export interface NativeTls {
  cert?: Uint8Array;
  key?: Uint8Array;
  names: { name: string; cert: Uint8Array; key: Uint8Array }[];
  ca: Uint8Array;
  clientCertificates?: 'optional' | 'required';
  only13: boolean;
  http2: boolean;
}

/** Checks TLS options. `false` turns TLS off explicitly. */
export function readTls(value: unknown, at: string, problems: string[]): TlsPlan | false | undefined {
  if (value === undefined || value === false) return value;
  const tls = readObject(value, at, TLS_KEYS, problems);
  if (tls === NOTHING) return undefined;
  const { cert, key, ca, clientCertificates, minVersion, http2 } = tls;
  const whole = cert !== undefined || key !== undefined;
  const plan: TlsPlan = {
    identity: whole ? readIdentity({ cert, key }, at, problems) : undefined,
    names: readNames(tls['names'], `${at}.names`, problems),
    ca: readAuthorities(ca, `${at}.ca`, problems),
    clientCertificates: undefined,
    only13: minVersion === 'TLSv1.3',
    http2: http2 !== false,
  };
  if (!whole && tls['names'] === undefined) problems.push(`${at} must have cert and key, or names`);
  if (clientCertificates === 'optional' || clientCertificates === 'required') {
    plan.clientCertificates = clientCertificates;
    if (ca === undefined) problems.push(`${at}.clientCertificates needs ${at}.ca`);
  } else if (clientCertificates !== undefined) {
    problems.push(`${at}.clientCertificates must be 'optional' or 'required', not ${shown(clientCertificates)}`);
  } else if (ca !== undefined) problems.push(`${at}.ca needs ${at}.clientCertificates`);
  if (minVersion !== undefined && minVersion !== 'TLSv1.2' && minVersion !== 'TLSv1.3') {
    problems.push(`${at}.minVersion must be 'TLSv1.2' or 'TLSv1.3', not ${shown(minVersion)}`);
  }
  if (http2 !== undefined && typeof http2 !== 'boolean') {
    problems.push(`${at}.http2 must be true or false, not ${shown(http2)}`);
  }
  return plan;
}

/**
 * Checks the argument of `Server.reloadTls`.
 *
 * @throws {TypeError} naming every problem
 */
export function parseTlsOptions(value: unknown): TlsPlan | undefined {
  const problems: string[] = [];
  const plan = readTls(value === false ? null : value, 'tls', problems);
  if (problems.length > 0) throw new TypeError(problems.join('; '));
  return plan || undefined;
}

/**
 * Reads the files of a plan's options.
 *
 * @throws {MillraceError} ERR_MILLRACE_INVALID_TLS naming the option whose file cannot be read
 */
export async function loadTls(plan: TlsPlan): Promise<NativeTls> {
  const { identity, clientCertificates, only13, http2 } = plan;
  const [own, names, ca] = await Promise.all([
    identity === undefined ? {} : loadIdentity(identity),
    Promise.all(plan.names.map(async ({ name, ...rest }) => ({ name, ...(await loadIdentity(rest)) }))),
    Promise.all(plan.ca.map(loadSource)),
  ]);
  // a file may end without a line break
  const authorities = Buffer.concat(ca.flatMap((one) => [one, LINE_BREAK]));
  return { ...own, names, ca: authorities, only13, http2, ...(clientCertificates && { clientCertificates }) };
}

const TLS_KEYS = ['cert', 'key', 'names', 'clientCertificates', 'ca', 'minVersion', 'http2'];
const LINE_BREAK = Buffer.from('\n');

function readNames(value: unknown, at: string, problems: string[]): TlsPlan['names'] {
  if (value === undefined) return [];
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    problems.push(`${at} must be an object with a certificate and key for each name, not ${shown(value)}`);
    return [];
  }
  return Object.entries(value).flatMap(([name, identity]: [string, unknown]) => {
    const place = `${at}[${JSON.stringify(name)}]`;
    if (!/^(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/i.test(name)) {
      problems.push(`${place} must be named like "a.example" or "*.example"`);
    }
    const fields = readObject(identity, place, ['cert', 'key'], problems);
    const sources = fields === NOTHING ? undefined : readIdentity(fields, place, problems);
    return sources === undefined ? [] : [{ name, ...sources }];
  });
}

function readIdentity(fields: { cert?: unknown; key?: unknown }, at: string, problems: string[]): Sources | undefined {
  const cert = readSource(fields.cert, `${at}.cert`, problems);
  const key = readSource(fields.key, `${at}.key`, problems);
  return cert === undefined || key === undefined ? undefined : { cert, key };
}

/** Checks one or several certificates of authorities. */
export function readAuthorities(value: unknown, at: string, problems: string[]): Source[] {
  if (value === undefined) return [];
  const sources = Array.isArray(value)
    ? value.map((one: unknown, index) => readSource(one, `${at}[${index}]`, problems))
    : [readSource(value, at, problems)];
  return sources.filter((source) => source !== undefined);
}

/** Checks one source of PEM. */
export function readSource(value: unknown, at: string, problems: string[]): Source | undefined {
  if (value instanceof Uint8Array && value.length > 0) return { at, from: Uint8Array.from(value) };
  const text = value instanceof URL && value.protocol === 'file:' ? value.href : value;
  if (typeof text === 'string' && text.includes('-----BEGIN ')) return { at, from: Buffer.from(text) };
  if (typeof text === 'string' && text !== '' && !text.includes('\0') && !text.includes('\n')) {
    if (!text.startsWith('file:')) return { at, from: text };
    try {
      return { at, from: fileURLToPath(text) };
    } catch {
      // reported below
    }
  }
  problems.push(`${at} must be PEM, or the path or file: URL of a PEM file, not ${shown(value)}`);
  return undefined;
}

async function loadIdentity({ cert, key }: Sources): Promise<{ cert: Uint8Array; key: Uint8Array }> {
  const [loadedCert, loadedKey] = await Promise.all([loadSource(cert), loadSource(key)]);
  return { cert: loadedCert, key: loadedKey };
}

/**
 * The PEM of a source.
 *
 * @throws {MillraceError} ERR_MILLRACE_INVALID_TLS if its file cannot be read
 */
export async function loadSource({ at, from }: Source): Promise<Uint8Array> {
  if (typeof from !== 'string') return from;
  try {
    return await readFile(from);
  } catch (cause) {
    const { message } = cause as Error;
    throw new MillraceError('ERR_MILLRACE_INVALID_TLS', `${at} cannot be read: ${message}`, { cause });
  }
}
