// Compiled, never run: what the published types must accept and refuse.
import { Readable } from 'node:stream';

import {
  type AdminOptions,
  type BackplaneOptions,
  CallError,
  type ClusterInfo,
  type ClusterNode,
  type CompressionOptions,
  call,
  close,
  clusterInfo,
  copySubscriptions,
  createGateway,
  createVirtualSocket,
  type DrainedOptions,
  deleteVirtualSocket,
  drained,
  type Gateway,
  getDebugState,
  getKey,
  type History,
  hasSubscriptions,
  history,
  type Listener,
  type LogLevel,
  type LogLine,
  type Member,
  type MillraceError,
  type Name,
  type Origins,
  outboxBytes,
  type PathOptions,
  type Position,
  type Presence,
  type PresenceCount,
  type ProtocolName,
  type Published,
  presence,
  presenceCount,
  publish,
  type RespOptions,
  type RespUser,
  type Server,
  type StartOptions,
  type StaticOptions,
  type Stats,
  type StreamSource,
  type SubscribeResult,
  send,
  sendStream,
  setKey,
  setKeyIf,
  setPresence,
  setToken,
  start,
  stats,
  subscribe,
  type TcpFraming,
  type TcpOptions,
  unsubscribe,
  type WorkerModule,
  // biome-ignore lint/correctness/useImportExtensions: the built file, as users get it
} from '../../js/dist/index.mjs';

const options: StartOptions = {
  bind: ['127.0.0.1:0', { address: 'unix:/tmp/x', protocol: 'http' }],
  workerPath: new URL('file:///worker.mjs'),
  threads: 2,
  workerArg: { any: 'thing' },
  ioThreads: 1,
  ioUring: false,
  channels: {
    'img:*': { compress: false, clients: { subscribe: true, publish: { from: true } } },
    'room:*': { history: { messages: 100, ageMs: 60_000 }, presence: true, clients: { info: true } },
  },
  limits: { messageBytes: 1024, outboxPolicy: 'dropOldest', backplaneFull: 'drop', handlerTimeoutMs: 100 },
  origins: ['https://a.example'],
  onError: (error: MillraceError) => {
    const code: string = error.code;
    void code;
  },
  onLog: ({ time, level, target, message, fields }: LogLine) => {
    const known: LogLevel = level;
    const parts: [number, string, string, string | number | boolean | undefined] = [time, target, message, fields['x']];
    void [known, parts];
  },
  logLevel: 'warn,millrace::connection=debug',
};

const link: BackplaneOptions = {
  url: 'rediss://a,b:6380',
  prefix: 'app',
  user: 'me',
  password: 'secret',
  tls: { ca: ['ca.pem', new Uint8Array(1)], cert: 'cert.pem', key: new URL('file:///key.pem'), servername: 'a' },
  waitMs: 5000,
};

const origins: Origins = 'same-host';
const paths: PathOptions = { events: true, stats: '/numbers' };
const compression: CompressionOptions = {
  threshold: 100,
  level: 1,
  serverContextTakeover: true,
  clientContextTakeover: 'bounded',
  serverMaxWindowBits: 8,
  clientMaxWindowBits: 15,
  memoryBytes: 1 << 20,
};
// @ts-expect-error: the server's is bounded if it is on
void (() => start({ bind: ':0', compression: { serverContextTakeover: 'bounded' } }));
// @ts-expect-error: unknown
void (() => start({ bind: ':0', compression: { windowBits: 9 } }));
const admin: AdminOptions = { token: 'a'.repeat(16), path: '/admin' };
// @ts-expect-error: the token is required
void (() => start({ bind: ':0', stats: true, admin: { path: '/admin' } }));
// @ts-expect-error: there is no default token
void (() => start({ bind: ':0', stats: true, admin: true }));
const files: StaticOptions = { directory: 'public' };
const user: RespUser = { name: 'a', password: 'b', channels: ['c*'] };
const access: RespOptions = { protocol: 'resp', users: [user], publishAs: 'text' };
const protocols: ProtocolName[] = ['http', 'resp', 'tcp'];
const framings: TcpFraming[] = ['line', 'length', 'none'];
const raw: TcpOptions = { protocol: 'tcp', framing: 'length', lengthBytes: 2 };
const listeners: Listener[] = [
  { address: ':1', origins, ...paths, static: [files, 'other'], rawMethods: true, limits: { messageBytes: 1 } },
  { address: ':2', protocol: 'http', websocketPath: '/ws', tls: false },
  { address: ':6', compression: true },
  { address: ':7', compression },
  { address: ':8', stats: true, admin },
  { address: ':4', ...raw, tls: { cert: 'a', key: 'b' }, limits: { messageBytes: 1024 } },
  { address: ':5', protocol: 'tcp', framing: 'line', allowHttp: true },
  { address: ':3', ...access, reusePort: true, trustProxy: ['private'], proxyProtocol: true },
];
for (const listener of listeners) {
  if (listener.protocol === undefined || listener.protocol === 'http') void listener.websocketPath;
  else if (listener.protocol === 'resp') void listener.users?.[0]?.password;
  else if (listener.protocol === 'tcp') void listener.framing;
}
void [protocols, framings];

// @ts-expect-error an option of the other protocol
const mixed: Listener = { address: ':1', protocol: 'resp', origins: '*' };
// @ts-expect-error an option of the other protocol
const mixedToo: Listener = { address: ':1', protocol: 'http', password: 'x' };
// @ts-expect-error a framing is required
const unframed: Listener = { address: ':1', protocol: 'tcp' };
// @ts-expect-error no such length
const odd: Listener = { address: ':1', protocol: 'tcp', framing: 'length', lengthBytes: 3 };
// @ts-expect-error no such protocol
const unknown: Listener = { address: ':1', protocol: 'gopher' };
void [mixed, mixedToo, unframed, odd, unknown];

export async function use(): Promise<void> {
  const server: Server = await start(options);
  const addresses: string[] = server.addresses;
  await server.replaceWorkers();
  await server.replaceWorkers({ signal: AbortSignal.timeout(1000) });
  await server.stop({ drain: 100 });
  await server.stop({ drain: 100, spread: 30_000, code: 4000 });
  server.stopOnSignals({ spread: 30_000 });
  await start({ ...options, stopOnSignals: { drain: 100, spread: 30_000 } });
  // @ts-expect-error a number of milliseconds
  await server.stop({ spread: '30s' });
  await server.stop();
  void addresses;
  const posted: number =
    send(1, 'text') +
    send('channel', new Uint8Array(1)) +
    send([1, 'channel', new ArrayBuffer(1)], 'x', { except: [1], compress: false });
  const published: Published = await publish('room:1', 'x', { idempotencyKey: 'k', compress: false });
  const since: Position | undefined = published.position;
  if (since !== undefined) {
    const results: SubscribeResult[] = await subscribe([1, 'c'], 'room:1', { since });
    const recovered: boolean | undefined = results[0]?.recovered;
    void recovered;
    await subscribe(1, 'room:1', { last: 10 });
    const kept: History = await history('room:1', { since, limit: 10, reverse: true });
    const data: string | Buffer | undefined = kept.publications[0]?.data;
    void data;
  }
  const { members }: Presence = await presence('room:1');
  const one: Member | undefined = members[0];
  const said: unknown = one?.info;
  const at: string | undefined = one?.node;
  const present: PresenceCount = await presenceCount('room:1');
  const isMember: boolean = await setPresence(1, 'room:1', { name: 'Ada' });
  const entered: SubscribeResult[] = await subscribe(1, 'room:1', { member: { name: 'Ada' } });
  void [said, at, present.members + present.sockets, isMember, entered[0]?.position?.offset];
  // @ts-expect-error a pattern has no members
  await subscribe(1, { pattern: '*' }, { member: 1 });
  // @ts-expect-error a key is text
  await publish('room:1', 'x', { idempotencyKey: 1 });
  // @ts-expect-error a pattern has no past
  await subscribe(1, { pattern: '*' }, { last: 1 });
  // @ts-expect-error both bounds are required
  void (() => start({ bind: ':0', channels: { a: { history: { messages: 1 } } } }));
  const ids: number[] = [
    ...subscribe(1, 'c'),
    ...subscribe(['c', 1], 'd', 2),
    ...unsubscribe(1, 'c'),
    ...copySubscriptions('a', 'b'),
  ];
  const has: boolean =
    hasSubscriptions('c') && deleteVirtualSocket(2, 1) && close(1, 4000, 'bye') && setKeyIf('k', 'v', 'w');
  const virtual: number = createVirtualSocket(1) + createVirtualSocket(1, 5) + createVirtualSocket(1, 'prefix');
  const value: Uint8Array | undefined = getKey('k') ?? setKey('k', 'v');
  setToken(1, 'token');
  const gateway: Gateway = createGateway();
  const waiting: number = outboxBytes(1);
  const patience: DrainedOptions = { timeoutMs: 5, signal: AbortSignal.timeout(5) };
  const room: boolean = (await drained(1)) && (await drained(1, patience)) && (await gateway.drained(1));
  const sources: StreamSource[] = [new ReadableStream<Uint8Array>(), Readable.from(['a']), ['a', new Uint8Array(1)]];
  for (const source of sources) await sendStream(1, source);
  const sent: number = (await sendStream(1, ['a'], { binary: false })) + (await gateway.sendStream(1, ['a']));
  // @ts-expect-error a message has strings or bytes
  await sendStream(1, [5]);
  void [waiting, room, sent];
  // @ts-expect-error a time is a number
  await drained(1, { timeoutMs: '5' });
  const more: number = gateway.send(1, 'x');
  const now: Stats = stats();
  getDebugState('channels');
  getDebugState('sockets', 1);
  const limited: number = now.refusedByAddress + now.refusedByKey;
  void [posted, ids, has, virtual, value, more, limited];

  const info: ClusterInfo = await clusterInfo();
  const { nodes, subscribers, isComplete } = await gateway.clusterInfo(['room', new Uint8Array(1)]);
  const [first]: ClusterNode[] = nodes;
  const counts: (number | undefined)[] = [subscribers[0], first?.sockets, first?.channels, first?.subscriptions];
  const state: 'connecting' | 'ready' | 'lost' | undefined = now.backplane?.state;
  const lost: number = (now.backplane?.missed ?? 0) + (now.backplane?.unconfirmed ?? 0);
  void [info, isComplete, first?.id, first?.isSelf, counts, state, lost];
  await start({ bind: 'x', backplane: 'redis://localhost' });
  await start({ bind: 'x', backplane: link });

  // @ts-expect-error a channel has a name
  await clusterInfo([5]);
  // @ts-expect-error the names are a list
  await clusterInfo('room');
  // @ts-expect-error a link has a URL
  await start({ bind: 'x', backplane: { prefix: 'app' } });
  // @ts-expect-error no such option
  await start({ bind: 'x', backplane: { url: 'nats://h', seed: 'x' } });
  // @ts-expect-error a time is a number
  await start({ bind: 'x', backplane: { url: 'nats://h', waitMs: '5s' } });
  // @ts-expect-error bind is required
  await start({ workerPath: 'x' });
  // @ts-expect-error no such limit
  await start({ bind: 'x', limits: { nothing: 1 } });
  // @ts-expect-error no such policy
  await start({ bind: 'x', limits: { outboxPolicy: 'explode' } });
  // @ts-expect-error a line is an object
  await start({ bind: 'x', onLog: (line: string) => void line });
  // @ts-expect-error data is text or bytes
  send(1, 5);
  // @ts-expect-error no boolean
  send(1, 'x', { compress: 1 });
  // @ts-expect-error an id is a number
  createVirtualSocket('1');
  // @ts-expect-error no such mode
  getDebugState('nonsense');
  setToken(1, {});
  // @ts-expect-error a token is required
  setToken(1);
}

const keyed: WorkerModule = { handleOpen: () => ({ limitKey: 'user', token: 'x' }) };
// @ts-expect-error a key is a string
const misnamed: WorkerModule = { handleOpen: () => ({ limitKey: 7 }) };
const plain: WorkerModule = { handleOpen: () => ({ compress: false }) };
// @ts-expect-error no boolean
const plainly: WorkerModule = { handleOpen: () => ({ compress: 'no' }) };
void [keyed, misnamed, plain, plainly];

const worker: WorkerModule = {
  async handleStart(arg) {
    void arg;
  },
  handleOpen(socketId, ip, headers, request) {
    const parts: [number, string, string | undefined, string] = [socketId, ip, headers.cookie, request.path];
    void parts;
    return request.protocols.includes('v1') ? { protocol: 'v1', token: 'x' } : { status: 401, body: 'no' };
  },
  handleTextMessage(text, socketId, token) {
    const parts: [string, number, Uint8Array | undefined] = [text, socketId, token];
    void parts;
  },
  async handleBinaryMessage(data, socketId) {
    send(socketId, data);
  },
  handleClose(socketId, token, code, reason) {
    const parts: [number, Uint8Array | undefined, number | undefined, string | undefined] = [
      socketId,
      token,
      code,
      reason,
    ];
    void parts;
  },
  async handleMessageStream(stream, socketId, token) {
    const parts: [boolean, number, Uint8Array | undefined] = [stream.binary, socketId, token];
    for await (const piece of stream) {
      const data: string | Uint8Array = piece;
      void data;
    }
    stream.cancel();
    void parts;
  },
  handleCongested(socketId, token) {
    const parts: [number, Uint8Array | undefined] = [socketId, token];
    void parts;
  },
  handleDrain(socketId) {
    void socketId;
  },
  handleSubscribe(channel, socketId, token, { since, info }) {
    const parts: [Name, number, Uint8Array | undefined, string | undefined, unknown] = [
      channel,
      socketId,
      token,
      since?.epoch,
      info,
    ];
    return parts.length > 0 ? { member: { name: 'x' } } : false;
  },
  async handlePublish(_channel, data, socketId, token) {
    const parts: [string | Uint8Array, number, Uint8Array | undefined] = [data, socketId, token];
    return parts.length > 0 || { data: { a: 1 } };
  },
  async handleCall(method, params, socketId, token) {
    const parts: [string, string | Uint8Array, number, Uint8Array | undefined] = [method, params, socketId, token];
    const answer: string | Uint8Array = await call(socketId, 'confirm', { a: 1 }, { timeoutMs: 5 });
    if (method === 'none') throw new CallError('code', 'reason');
    return { answer: String(answer), parts };
  },
  async handleEnd(socketId, token) {
    const parts: [number, Uint8Array | undefined] = [socketId, token];
    void parts;
  },
  async fetch(request, info) {
    const parts: [string, string, number] = [request.url, info.ip, info.port];
    void parts;
    if (request.method === 'GET') return new Response(await request.text());
    return { status: 201, headers: { 'set-cookie': ['a=1', 'b=2'] }, body: 'plain' };
  },
  handleStop() {},
};
void worker;
void (() => start({ bind: ':0', handlers: worker, websocketPath: ['/a', '/b'] }));

const wrong: WorkerModule = {
  // @ts-expect-error an answer is a Response or a plain object
  fetch: () => 5,
  // @ts-expect-error an id is a number
  handleEnd(socketId: string) {
    void socketId;
  },
  // @ts-expect-error it decides by a boolean or an object
  handleSubscribe: () => 'yes',
  // @ts-expect-error text is a string
  handleTextMessage(text: number) {
    void text;
  },
};
void wrong;
