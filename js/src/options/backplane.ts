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

/** The login for Redis Sentinels. */
export interface SentinelLogin {
  /** The user. Default: the Sentinels' default user. */
  user?: string;
  /** The password. */
  password?: string;
}

/** The link between nodes. */
export interface BackplaneOptions {
  /**
   * The address of the server: `redis://host:6379` (also Valkey), `rediss://` with TLS, `redis+cluster://host,host`
   * (and `rediss+cluster://`) for sharded channels of a Redis cluster, `redis+sentinel://host:26379,host/name` (and
   * `rediss+sentinel://`) for the master that Sentinels watch under this name, `nats://host:4222`, or `tls://` for NATS
   * with TLS. It may have a user and password (`redis://user:password@host`), and several hosts, which are tried in
   * turn. Of a Redis server and its replicas, the master is used.
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
  /**
   * A credentials file of NATS (`.creds`, with a JWT and a seed), as its path, `file:` URL or contents. It is read when
   * the gateway starts.
   */
  credentials?: TlsSource;
  /** The seed of an NKey (`SU…`), for a user that the NATS server knows by its public key. */
  nkey?: string;
  /** The login for Sentinels, if they ask for one. `user` and `password` above are those of the Redis server. */
  sentinel?: SentinelLogin;
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
  credentials: Source | undefined;
  nkey: string | undefined;
  sentinel: { master: string; user: string | undefined; password: string | undefined } | undefined;
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
  /** The contents of a credentials file. */
  credentials?: Uint8Array;
  nkey?: string;
  sentinel?: { master: string; user?: string; password?: string };
  tls?: { ca: Uint8Array; cert?: Uint8Array; key?: Uint8Array; servername?: string };
}

/** Checks the option. */
export function readBackplane(value: unknown, at: string, problems: string[]): BackplanePlan | undefined {
  if (value === undefined) return undefined;
  const given = typeof value === 'string' ? { url: value } : readObject(value, at, [...KEYS, ...NKEYS], problems);
  if (given === NOTHING) return undefined;
  for (const key of NKEYS.filter((name) => name in given)) {
    problems.push(
      `${at}.${key} is not an option: give the seed of an NKey as nkey, or a file with a JWT as credentials`,
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
  const isNats = target?.protocol === 'nats';
  const nkey = readSeed(given, place('nkey'), problems);
  const file = (given as Record<string, unknown>)['credentials'];
  const credentials = file === undefined ? undefined : readSource(file, place('credentials'), problems);
  for (const [key, value] of Object.entries({ nkey, credentials })) {
    if (value !== undefined && target !== undefined && !isNats) problems.push(`${place(key)} is for NATS only`);
  }
  const logins = { user, token, nkey, credentials };
  const used = Object.entries(logins).flatMap(([key, value]) => (value === undefined ? [] : [key]));
  if (isNats && used.length > 1) problems.push(`${place(used[1] ?? '')} cannot be used together with ${used[0]}`);
  const sentinel = readSentinel(given, target, place('sentinel'), problems);
  const encrypted = readTls(tls, place('tls'), target?.isEncrypted, problems);
  const wait = readNumber(waitMs, place('waitMs'), { least: 0, most: 86_400_000 }, problems);
  if (target === undefined) return undefined;
  const { protocol, servers } = target;
  return {
    ...{ protocol, servers, prefix: prefix as string, user, password, token, credentials, nkey, sentinel },
    tls: encrypted,
    waitMs: wait ?? 0,
  };
}

function readSeed(given: object, at: string, problems: string[]): string | undefined {
  const { nkey } = given as { nkey?: unknown };
  if (nkey === undefined || (typeof nkey === 'string' && SEED.test(nkey))) return nkey;
  problems.push(`${at} must be the seed of a user's NKey: "SU" and 56 more letters and digits`);
  return undefined;
}

function readSentinel(
  given: object,
  target: Target | undefined,
  at: string,
  problems: string[],
): BackplanePlan['sentinel'] {
  const value = (given as Record<string, unknown>)['sentinel'];
  if (value !== undefined && target !== undefined && target.master === undefined) {
    problems.push(`${at} needs a URL with Sentinels: "redis+sentinel://host,host/name"`);
  }
  const own = value === undefined ? NOTHING : readObject(value, at, ['user', 'password'], problems);
  const { user, password } = own as Record<string, unknown>;
  for (const [key, text] of Object.entries({ user, password })) {
    if (text !== undefined && (typeof text !== 'string' || text === '')) {
      problems.push(`${at}.${key} must be a string that is not empty`);
    }
  }
  if (user !== undefined && password === undefined) problems.push(`${at}.user needs ${at}.password`);
  if (target?.master === undefined) return undefined;
  return { master: target.master, user: user as string | undefined, password: password as string | undefined };
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
  const { protocol, servers, prefix, user, password, token, credentials, nkey, sentinel, tls } = plan;
  const native: NativeBackplane = {
    protocol,
    servers: servers.flatMap(({ host, port }) => [host, port]),
    prefix,
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
    ...(token !== undefined && { token }),
    ...(credentials !== undefined && { credentials: await loadSource(credentials) }),
    ...(nkey !== undefined && { nkey }),
    ...(sentinel !== undefined && {
      sentinel: {
        master: sentinel.master,
        ...(sentinel.user !== undefined && { user: sentinel.user }),
        ...(sentinel.password !== undefined && { password: sentinel.password }),
      },
    }),
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

const KEYS = ['url', 'prefix', 'user', 'password', 'token', 'credentials', 'nkey', 'sentinel', 'tls', 'waitMs'];
/** Names of these options in other NATS clients. */
const NKEYS = ['seed', 'jwt', 'creds', 'credentialsFile'];
const SEED = /^SU[A-Z2-7]{56}$/;
const TLS_KEYS = ['ca', 'cert', 'key', 'servername'];
const LINE_BREAK = Buffer.from('\n');

/** Characters that every server allows in names and that have no meaning in patterns. */
const PREFIX = /^[A-Za-z0-9_./:-]{1,64}$/;

const URL_PARTS = /^(?<scheme>[a-z+]+):\/\/(?:(?<login>[^/?#]*)@)?(?<hosts>[^@/?#]+)(?:\/(?<path>[A-Za-z0-9._-]*))?$/;
const HOST = /^(?:\[(?<v6>[0-9a-f:.]+)\]|(?<name>[a-z0-9._-]+))(?::(?<port>[0-9]{1,5}))?$/i;

interface Scheme {
  protocol: BackplanePlan['protocol'];
  isEncrypted: boolean;
  hasSentinels?: boolean;
}

const SCHEMES: Record<string, Scheme> = {
  redis: { protocol: 'redis', isEncrypted: false },
  rediss: { protocol: 'redis', isEncrypted: true },
  valkey: { protocol: 'redis', isEncrypted: false },
  valkeys: { protocol: 'redis', isEncrypted: true },
  'redis+cluster': { protocol: 'redis-cluster', isEncrypted: false },
  'rediss+cluster': { protocol: 'redis-cluster', isEncrypted: true },
  'valkey+cluster': { protocol: 'redis-cluster', isEncrypted: false },
  'valkeys+cluster': { protocol: 'redis-cluster', isEncrypted: true },
  'redis+sentinel': { protocol: 'redis', isEncrypted: false, hasSentinels: true },
  'rediss+sentinel': { protocol: 'redis', isEncrypted: true, hasSentinels: true },
  'valkey+sentinel': { protocol: 'redis', isEncrypted: false, hasSentinels: true },
  'valkeys+sentinel': { protocol: 'redis', isEncrypted: true, hasSentinels: true },
  nats: { protocol: 'nats', isEncrypted: false },
  tls: { protocol: 'nats', isEncrypted: true },
};

/** URLs that people try and that are not supported, with the reason. */
const UNKNOWN: [RegExp, string][] = [
  [
    /^([a-z]+[+-])?sentinels?:/i,
    'Sentinels and the name of the master are given as "redis+sentinel://host:26379,host/mymaster"',
  ],
  [/^wss?:/i, 'NATS is spoken over TCP: "nats://…" or "tls://…"'],
  [/^unix:|^redis\+unix:|^\//i, 'the server is reached over TCP'],
];

interface Target {
  protocol: BackplanePlan['protocol'];
  isEncrypted: boolean;
  servers: { host: string; port: number }[];
  /** The name of the master, if the servers are Sentinels. */
  master: string | undefined;
  user: string | undefined;
  password: string | undefined;
  token: string | undefined;
}

/** Parses the URL. The platform's `URL` does not allow lists of hosts. */
function readUrl(value: unknown, at: string, problems: string[]): Target | undefined {
  const parts = typeof value === 'string' ? URL_PARTS.exec(value)?.groups : undefined;
  const scheme = SCHEMES[parts?.['scheme'] ?? ''];
  const port = scheme?.protocol === 'nats' ? 4222 : scheme?.hasSentinels ? 26_379 : 6379;
  const path = parts?.['path'] ?? '';
  const hasPath = scheme?.hasSentinels ? path !== '' : /^[0-9]*$/.test(path);
  const servers = (parts?.['hosts'] ?? '').split(',').map((host) => readHost(host, port));
  const login = readLogin(parts?.['login'], scheme?.protocol === 'nats');
  if (scheme !== undefined && hasPath && login !== undefined && servers.every((server) => server !== undefined)) {
    const { protocol, isEncrypted } = scheme;
    const master = scheme.hasSentinels ? path : undefined;
    return { protocol, isEncrypted, servers: servers as Target['servers'], master, ...login };
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
