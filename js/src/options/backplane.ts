/** The backplane option: its types, its parser, and what the native side gets. Connects to no server. */

import { NOTHING, readNumber, readObject, shown } from './fields.js';
import { loadSource, readAuthorities, readSource, type Source, type TlsSource } from './tls.js';

/** TLS to the backplane's server. */
export interface BackplaneTls {
  /** The authorities that may have signed the server's certificate. Default: the runtime's own list. */
  ca?: TlsSource | TlsSource[];
  /** A client certificate, for servers that ask for one. */
  cert?: TlsSource;
  /** The private key of `cert`. It must not have a password. */
  key?: TlsSource;
  /** The name in the server's certificate. Default: the host of the URL. */
  servername?: string;
}

/** The link between nodes. */
export interface BackplaneOptions {
  /**
   * The address of the server: `redis://host:6379` (also Valkey), `rediss://` with TLS, `redis+cluster://host,host`
   * (and `rediss+cluster://`) for sharded channels of a Redis cluster, `nats://host:4222`, or `tls://` for NATS with
   * TLS. It may have a user and password (`redis://user:password@host`), and several hosts, which are tried in turn. Of
   * a Redis server and its replicas, the master is used.
   */
  url: string;
  /** The prefix of every name on the server: the channel `room` becomes `prefix:room`. Default `'millrace'`. */
  prefix?: string;
  /** The user, if the URL has none. */
  user?: string;
  /** The password, if the URL has none. */
  password?: string;
  /** A token, for NATS. */
  token?: string;
  /** More TLS options, for URLs that use TLS. */
  tls?: BackplaneTls;
  /**
   * How long `start` waits for the link, in milliseconds, before it rejects with ERR_MILLRACE_BACKPLANE_LOST. Default
   * 0: it does not wait, and the link comes up when the server does.
   */
  waitMs?: number;
}

/** Checked options. Their files have not been read yet. */
export interface BackplanePlan {
  protocol: 'redis' | 'redis-cluster' | 'nats';
  servers: { host: string; port: number }[];
  prefix: string;
  user: string | undefined;
  password: string | undefined;
  token: string | undefined;
  tls: { ca: Source[]; cert: Source | undefined; key: Source | undefined; servername: string | undefined } | undefined;
  waitMs: number;
}

/** The options of the native side. */
export interface NativeBackplane {
  protocol: string;
  /** Hosts and ports, alternating. */
  servers: (string | number)[];
  prefix: string;
  user?: string;
  password?: string;
  token?: string;
  tls?: { ca: Uint8Array; cert?: Uint8Array; key?: Uint8Array; servername?: string };
}

/** Checks the option. */
export function readBackplane(value: unknown, at: string, problems: string[]): BackplanePlan | undefined {
  if (value === undefined) return undefined;
  const given = typeof value === 'string' ? { url: value } : readObject(value, at, [...KEYS, ...NKEYS], problems);
  if (given === NOTHING) return undefined;
  for (const key of NKEYS.filter((name) => name in given)) {
    problems.push(
      `${at}.${key} is not supported: for NATS, give a user and a password, a token, or a certificate in tls.cert`,
    );
  }
  const place = (key: string): string => (typeof value === 'string' ? at : `${at}.${key}`);
  const { url, prefix = 'millrace', tls, waitMs } = given as Record<string, unknown>;
  const target = readUrl(url, place('url'), problems);
  if (typeof prefix !== 'string' || !PREFIX.test(prefix) || /^\.|\.\.|\.$/.test(prefix)) {
    problems.push(
      `${place('prefix')} must be 1 to 64 letters, digits, "_", "-", "/", ":" or "." between others, not ${shown(prefix)}`,
    );
  }
  const own = (key: 'user' | 'password' | 'token'): string | undefined => {
    const text = (given as Record<string, unknown>)[key];
    if (text === undefined || (typeof text === 'string' && text !== '')) return text;
    problems.push(`${place(key)} must be a string that is not empty`);
    return undefined;
  };
  const user = own('user') ?? target?.user;
  const password = own('password') ?? target?.password;
  const token = own('token') ?? target?.token;
  if (target !== undefined && target.protocol !== 'nats' && token !== undefined) {
    problems.push(`${place('token')} is for NATS only`);
  }
  if (user !== undefined && password === undefined) problems.push(`${place('user')} needs ${place('password')}`);
  const encrypted = readTls(tls, place('tls'), target?.isEncrypted, problems);
  const wait = readNumber(waitMs, place('waitMs'), { least: 0, most: 86_400_000 }, problems);
  if (target === undefined) return undefined;
  const { protocol, servers } = target;
  return { protocol, servers, prefix: prefix as string, user, password, token, tls: encrypted, waitMs: wait ?? 0 };
}

/** A text that is the same for the same options. The first start fixes them. */
export function identityOf(plan: BackplanePlan): string {
  const { waitMs: _, ...rest } = plan;
  return JSON.stringify(rest, (_key, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value,
  );
}

/**
 * Reads the files of a plan's options.
 *
 * @throws {MillraceError} ERR_MILLRACE_INVALID_TLS naming the option whose file cannot be read
 */
export async function loadBackplane(plan: BackplanePlan): Promise<NativeBackplane> {
  const { protocol, servers, prefix, user, password, token, tls } = plan;
  const native: NativeBackplane = {
    protocol,
    servers: servers.flatMap(({ host, port }) => [host, port]),
    prefix,
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
    ...(token !== undefined && { token }),
  };
  if (tls === undefined) return native;
  const [ca, cert, key] = await Promise.all([
    Promise.all(tls.ca.map(loadSource)),
    tls.cert && loadSource(tls.cert),
    tls.key && loadSource(tls.key),
  ]);
  // a file may end without a line break
  const authorities = tls.ca.length === 0 ? [Buffer.from((await import('node:tls')).rootCertificates.join('\n'))] : ca;
  native.tls = {
    ca: Buffer.concat(authorities.flatMap((one) => [one, LINE_BREAK])),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(tls.servername !== undefined && { servername: tls.servername }),
  };
  return native;
}

const KEYS = ['url', 'prefix', 'user', 'password', 'token', 'tls', 'waitMs'];
/** Options of other NATS clients for nkeys, which Millrace does not support. */
const NKEYS = ['nkey', 'seed', 'jwt', 'creds', 'credentials', 'credentialsFile'];
const TLS_KEYS = ['ca', 'cert', 'key', 'servername'];
const LINE_BREAK = Buffer.from('\n');

/** Characters that every server allows in names and that have no meaning in patterns. */
const PREFIX = /^[A-Za-z0-9_./:-]{1,64}$/;

const URL_PARTS = /^(?<scheme>[a-z+]+):\/\/(?:(?<login>[^/?#]*)@)?(?<hosts>[^@/?#]+)(?:\/(?<path>[0-9]*))?$/;
const HOST = /^(?:\[(?<v6>[0-9a-f:.]+)\]|(?<name>[a-z0-9._-]+))(?::(?<port>[0-9]{1,5}))?$/i;

const SCHEMES: Record<string, { protocol: BackplanePlan['protocol']; isEncrypted: boolean }> = {
  redis: { protocol: 'redis', isEncrypted: false },
  rediss: { protocol: 'redis', isEncrypted: true },
  valkey: { protocol: 'redis', isEncrypted: false },
  valkeys: { protocol: 'redis', isEncrypted: true },
  'redis+cluster': { protocol: 'redis-cluster', isEncrypted: false },
  'rediss+cluster': { protocol: 'redis-cluster', isEncrypted: true },
  'valkey+cluster': { protocol: 'redis-cluster', isEncrypted: false },
  'valkeys+cluster': { protocol: 'redis-cluster', isEncrypted: true },
  nats: { protocol: 'nats', isEncrypted: false },
  tls: { protocol: 'nats', isEncrypted: true },
};

/** URLs that people try and that are not supported, with the reason. */
const UNKNOWN: [RegExp, string][] = [
  [
    /^([a-z]+[+-])?sentinels?:/i,
    'Sentinel is not asked for the master; give the Redis hosts, "redis://a,b", of which the master is used',
  ],
  [/^wss?:/i, 'NATS is spoken over TCP: "nats://…" or "tls://…"'],
  [/^unix:|^redis\+unix:|^\//i, 'the server is reached over TCP'],
];

interface Target {
  protocol: BackplanePlan['protocol'];
  isEncrypted: boolean;
  servers: { host: string; port: number }[];
  user: string | undefined;
  password: string | undefined;
  token: string | undefined;
}

/** Parses the URL. The platform's `URL` does not allow lists of hosts. */
function readUrl(value: unknown, at: string, problems: string[]): Target | undefined {
  const parts = typeof value === 'string' ? URL_PARTS.exec(value)?.groups : undefined;
  const scheme = SCHEMES[parts?.['scheme'] ?? ''];
  const port = scheme?.protocol === 'nats' ? 4222 : 6379;
  const servers = (parts?.['hosts'] ?? '').split(',').map((host) => readHost(host, port));
  const login = readLogin(parts?.['login'], scheme?.protocol === 'nats');
  if (scheme !== undefined && login !== undefined && servers.every((server) => server !== undefined)) {
    return { ...scheme, servers: servers as Target['servers'], ...login };
  }
  const unknown = UNKNOWN.find(([scheme]) => typeof value === 'string' && scheme.test(value))?.[1];
  problems.push(
    unknown === undefined
      ? `${at} must be a URL such as "redis://localhost:6379" or "nats://localhost:4222", not ${concealed(value)}`
      : `${at} cannot be ${concealed(value)}: ${unknown}`,
  );
  return undefined;
}

function readHost(text: string, usual: number): { host: string; port: number } | undefined {
  const parts = HOST.exec(text)?.groups;
  if (parts === undefined) return undefined;
  const port = Number(parts['port'] ?? usual);
  return port >= 1 && port <= 65_535 ? { host: parts['v6'] ?? parts['name'] ?? '', port } : undefined;
}

function readLogin(text: string | undefined, isNats: boolean): Pick<Target, 'user' | 'password' | 'token'> | undefined {
  const nobody = { user: undefined, password: undefined, token: undefined };
  if (text === undefined || text === '') return nobody;
  try {
    const colon = text.indexOf(':');
    if (colon < 0) {
      const only = decodeURIComponent(text);
      return isNats ? { ...nobody, token: only } : { ...nobody, user: only };
    }
    const user = decodeURIComponent(text.slice(0, colon));
    return { ...nobody, user: user === '' ? undefined : user, password: decodeURIComponent(text.slice(colon + 1)) };
  } catch {
    return undefined;
  }
}

/** A URL for a message, without its password. */
function concealed(value: unknown): string {
  return shown(typeof value === 'string' ? value.replace(/\/\/[^/]*@/, '//…@') : value);
}

function readTls(
  value: unknown,
  at: string,
  isEncrypted: boolean | undefined,
  problems: string[],
): BackplanePlan['tls'] {
  const own = value === undefined ? NOTHING : readObject(value, at, TLS_KEYS, problems);
  if (value !== undefined && isEncrypted === false) {
    problems.push(`${at} needs a URL that says TLS: "rediss://…", "rediss+cluster://…" or "tls://…"`);
  }
  const { ca, cert, key, servername } = own as Record<string, unknown>;
  if ((cert === undefined) !== (key === undefined)) problems.push(`${at}.cert and ${at}.key need each other`);
  if (servername !== undefined && (typeof servername !== 'string' || servername === '')) {
    problems.push(`${at}.servername must be a host name, not ${shown(servername)}`);
  }
  const plan = {
    ca: ca === undefined ? [] : readAuthorities(ca, `${at}.ca`, problems),
    cert: cert === undefined ? undefined : readSource(cert, `${at}.cert`, problems),
    key: key === undefined ? undefined : readSource(key, `${at}.key`, problems),
    servername: servername as string | undefined,
  };
  return isEncrypted ? plan : undefined;
}
