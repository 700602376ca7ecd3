// Compiled, never run: the generic types, and what they must refuse. `Same` is exact, so a type that became `any` is seen.
import {
  type App,
  createApp,
  type Handler,
  type Request,
  type RouteParams,
  Router,
  type Socket,
  type SocketHandlers,
  // biome-ignore lint/correctness/useImportExtensions: the built file, as users get it
} from '../../js/dist/http.mjs';
import {
  type Acceptance,
  createGateway,
  defineWorker,
  type Listener,
  type OpenAnswer,
  type ProtocolHandlers,
  type ProtocolName,
  type Protocols,
  type Server,
  type StartOptions,
  setToken,
  start,
  type WorkerModule,
  type WorkerTypesOf,
  // biome-ignore lint/correctness/useImportExtensions: the built file, as users get it
} from '../../js/dist/index.mjs';

/** Whether two types are one. */
type Same<One, Other> = (<T>() => T extends One ? 1 : 2) extends <T>() => T extends Other ? 1 : 2 ? true : false;
declare function isTrue<_Claim extends true>(): void;

// route parameters

isTrue<Same<RouteParams<'/rooms/:room'>, { room: string }>>();
isTrue<Same<RouteParams<'/from/:from-:to'>, { from: string; to: string }>>();
isTrue<Same<RouteParams<'/users/:user_1/posts/:post2'>, { user_1: string; post2: string }>>();
isTrue<Same<RouteParams<'/plain'>, Record<never, never>>>();
isTrue<Same<RouteParams<'/a:/:'>, Record<never, never>>>();
isTrue<Same<RouteParams<'/files/*'>, { '*'?: string }>>();
isTrue<Same<RouteParams<'*'>, { '*'?: string }>>();
isTrue<Same<RouteParams<'/files/*rest'>, { rest?: string }>>();
isTrue<Same<RouteParams<'/u/:id/*rest'>, { id: string; rest?: string }>>();
isTrue<Same<RouteParams<'/not/last*'>, Record<never, never>>>();
isTrue<Same<RouteParams<'/a/:x/:y' | '/b/:x'>, { x: string; y?: string }>>();
isTrue<Same<RouteParams<string>, Record<string, string>>>();

const app: App = createApp();
const path: string = '/anywhere';
app.get('/rooms/:room', (req, res) => {
  isTrue<Same<typeof req.params, { room: string }>>();
  // @ts-expect-error the path has no such parameter
  res.json(req.params.rom);
});
app.get('/rooms/:room', [(req, _res, next) => next(req.params.room satisfies string)]);
app.post(['/a/:x', '/b/:x'], (req) => isTrue<Same<typeof req.params, { x: string }>>());
app.all('/files/*', (req) => isTrue<Same<typeof req.params, { '*'?: string }>>());
app.use('/:tenant', (req, _res, next) => next(req.params.tenant satisfies string));
app.get(path, (req) => isTrue<Same<typeof req.params, Record<string, string>>>());
for (const method of ['put', 'patch', 'delete', 'head', 'options'] as const) {
  app[method]('/:id', (req) => isTrue<Same<typeof req.params, { id: string }>>());
}
isTrue<Same<ReturnType<typeof setting>, unknown>>();
const setting = () => app.get('json body');

// a handler for any path goes anywhere, and one that is mounted says what the path before it has
const anywhere: Handler = (req, res) => res.json(req.params['id']);
const exact: Handler<{ id: string }> = (req, res) => res.json(req.params.id satisfies string);
const named = Router<{ user: string }>();
named.get('/posts/:post', (req, res) => {
  isTrue<Same<typeof req.params, { post: string } & { user: string }>>();
  // @ts-expect-error neither path has such a parameter
  res.json(req.params.page);
});
const unnamed = new Router();
unnamed.get('/posts/:post', (req, res) => {
  isTrue<Same<typeof req.params.post, string>>();
  isTrue<Same<typeof req.params.user, string | undefined>>();
  res.json(req.params['anything']);
});
unnamed.get('/posts', (req: Request<{ user: string }>, res) => res.json(req.params.user));
app.get('/x/:id', anywhere, exact).get('/files/*', anywhere).use('/users/:user', named, unnamed).use(named);

// sockets of an app

interface Session {
  name: string;
}
app.ws('/rooms/:room', {
  open(socket) {
    isTrue<Same<typeof socket.params, { room: string }>>();
    isTrue<Same<typeof socket.data, unknown>>();
    return { token: socket.params.room };
  },
  // @ts-expect-error the path has no such parameter
  text: (socket) => void socket.params.rom,
});
app.ws<Session>('/rooms/:room', {
  open(socket) {
    socket.data = { name: 'guest' };
    isTrue<Same<typeof socket.params, Record<string, string>>>();
    // @ts-expect-error a name is text
    socket.data.name = 5;
  },
  text: (socket, text) => void socket.publish('room', socket.data.name + text),
});
app.ws<Session, '/rooms/:room'>('/rooms/:room', {
  close: (socket) => isTrue<Same<typeof socket, Socket<Session, { room: string }>>>(),
});
const handlers: SocketHandlers<Session> = { drain: (socket) => void socket.data.name };
app.ws<Session>('/', handlers);
app.ws('/:any', handlers);

// workers

const typed = defineWorker<{ arg: { secret: string }; data: Session }>({
  handleStart(arg) {
    isTrue<Same<typeof arg, { secret: string }>>();
  },
  handleOpen: () => ({ token: { name: 'guest' } }),
  handleTextMessage(_text, _socketId, token) {
    isTrue<Same<typeof token, Session | undefined>>();
  },
  handleBinaryMessage: (_data, _socketId, token) => isTrue<Same<typeof token, Session | undefined>>(),
  handleClose: (_socketId, token) => isTrue<Same<typeof token, Session | undefined>>(),
  handleEnd: (_socketId, token) => isTrue<Same<typeof token, Session | undefined>>(),
  handleSocketyMessage: (_message, _socketId, token) => isTrue<Same<typeof token, Session | undefined>>(),
  handleSpliceConnect(_url, _headers, _socketId, token) {
    isTrue<Same<typeof token, Session | undefined>>();
    return undefined;
  },
});
isTrue<Same<WorkerTypesOf<typeof typed>, { arg: { secret: string }; data: Session }>>();
isTrue<Same<WorkerTypesOf<{ default: typeof typed }>, { arg: { secret: string }; data: Session }>>();
isTrue<Same<Parameters<NonNullable<typeof typed.handleOpen>>[0], number>>();

defineWorker<{ data: Session }>({
  // @ts-expect-error that is no session
  handleOpen: () => ({ token: { nam: 'guest' } }),
});
defineWorker<{ data: Session }>({
  // @ts-expect-error a session is no bytes
  handleTextMessage(_text, _socketId, token?: Uint8Array) {
    void token;
  },
});
// @ts-expect-error no such handler
defineWorker({ handleTextMesage() {} });

// what is stored as bytes comes as bytes; without types, that is all
defineWorker<{ data: string | Session }>({
  handleTextMessage: (_text, _socketId, token) => isTrue<Same<typeof token, Uint8Array | Session | undefined>>(),
});
defineWorker({
  handleStart: (arg) => isTrue<Same<typeof arg, unknown>>(),
  handleOpen: () => ({ token: 'guest' }),
  handleTextMessage: (_text, _socketId, token) => isTrue<Same<typeof token, Uint8Array | undefined>>(),
});
// @ts-expect-error without types a token is bytes
const untyped: WorkerModule = { handleOpen: () => ({ token: { name: 'guest' } }) };
const accepted: Acceptance<Session> = { token: { name: 'guest' } };
const answers: OpenAnswer<Session>[] = [true, undefined, { status: 401 }, accepted];
// @ts-expect-error not with this option
const explicit: Acceptance<Session> = { token: undefined };
void [untyped, answers, explicit];

setToken(1, { name: 'guest' });
setToken<Session>(1, { name: 'guest' });
createGateway().setToken(1, new Map([['name', 5]]));
// @ts-expect-error that is no session
setToken<Session>(1, { nam: 'guest' });

// the argument of workers, where they are started

const bind = ':0';
const started: Promise<Server>[] = [
  start({ bind, handlers: typed, workerArg: { secret: 'x' } }),
  start<WorkerTypesOf<typeof typed>>({ bind, workerPath: 'worker.js', workerArg: { secret: 'x' } }),
  start({ bind, workerPath: 'worker.js', workerArg: 'anything' }),
  start({ bind, handlers: defineWorker<{ arg?: string }>({}) }),
  start({ bind, handlers: { handleTextMessage() {} } }),
  start({ bind, handlers: createApp() }),
  createGateway().start({ bind, handlers: typed, workerArg: { secret: 'x' }, stopOnSignals: true, health: true }),
];
// @ts-expect-error the argument is missing
start({ bind, handlers: typed });
// @ts-expect-error no such argument
start({ bind, handlers: typed, workerArg: { secrets: 'x' } });
// @ts-expect-error the argument is missing
start<{ arg: { secret: string } }>({ bind, workerPath: 'worker.js' });
const plain: StartOptions = { bind, workerPath: 'worker.js', workerArg: 5 };
const withTypes: StartOptions<{ arg: number }> = { bind, workerArg: 5 };
// @ts-expect-error a number is wanted
withTypes.workerArg = 'five';
void [started, plain];

// servers end with their block

export async function scoped(): Promise<void> {
  await using server = await start(plain);
  server.stopOnSignals();
  await using listening = app.listen(0);
  void listening;
}

// listeners are a union by `protocol`: each case has its own options, and no case is left

export function optionOf(listener: Listener): unknown {
  switch (listener.protocol) {
    case undefined:
    case 'http':
      return listener.websocketPath;
    case 'resp':
      return listener.users;
    case 'tcp':
      return listener.framing;
    case 'sockety':
      return listener.publishForm;
    case 'splice':
      return listener.anyTarget;
    default:
      return listener satisfies never;
  }
}
isTrue<Same<NonNullable<Listener['protocol']>, ProtocolName>>();
export const wrong: Extract<Listener, { protocol: 'tcp' }> = {
  address: ':1',
  protocol: 'tcp',
  framing: 'none',
  // @ts-expect-error an option of another protocol
  users: [],
};

// every protocol's handlers are among those of a worker module
type OfAll = Protocols[ProtocolName]['handlers'] extends infer Each
  ? Each extends unknown
    ? keyof Each
    : never
  : never;
isTrue<Same<OfAll, keyof ProtocolHandlers>>();
