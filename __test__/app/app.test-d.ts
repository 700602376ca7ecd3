// The types of `millrace/http`, as a program sees them.
import cors from 'cors';
import helmet from 'helmet';
import express, {
  type App,
  type AppOptions,
  type AppServer,
  type CookieOptions,
  createApp,
  type ErrorHandler,
  Express,
  type Fields,
  type Handler,
  HttpError,
  json,
  type MessageStream,
  type Next,
  type Request,
  type Response,
  Router,
  type SignedCookies,
  type Socket,
  // biome-ignore lint/correctness/useImportExtensions: the built file, as users get it
} from '../../js/dist/http.mjs';

const app: App = express();
const other: App = new Express();
const made: App = createApp().use(json());
const router: Router = Router();
const nested: Router = new express.Router();

app.use((req, res, next) => {
  const query: Fields = req.query;
  const id: string | undefined = req.params['id'];
  res.locals['id'] = id ?? query['id'];
  next();
});
app.use('/api', router, nested);
app.use((error: unknown, req: Request, res: Response, next: Next) => {
  if (error instanceof HttpError) res.status(error.status).text(req.path);
  else next(error);
});
const tell: ErrorHandler = (error, _req, res, _next) => res.json({ error: String(error) }, 500);
app.use('/api', tell, router);
app.get('/a', async (req, res) => res.json(req.json)).post('/a', [(_req, _res, next) => next('route')]);
app.get('json body');
app.locals['title'] = 'Mill';
// @ts-expect-error an app renders no views
app.render('index');
app.set('json body', true).set('body limit', 10).set('anything', {});
app.get('/stream', async (_req, res) => {
  const isWhole: boolean = await res.stream(['a', new Uint8Array(1)]);
  // @ts-expect-error a number is no stream
  if (isWhole) res.stream(5);
});
app.ws('/rooms/:room', {
  open: (socket: Socket, request) => request.protocols.length > 0 && socket.params['room'] !== undefined,
  text: (socket, text) => void socket.send(text.toUpperCase()),
  async binary(socket, data) {
    socket.publish('room', data, { compress: false });
  },
  async messageStream(socket, stream: MessageStream) {
    for await (const piece of stream) socket.send(piece);
    // @ts-expect-error a flag cannot be set
    stream.binary = true;
  },
  subscribe: (socket, channel, { info }) => channel === socket.params['room'] && info !== undefined,
  publish: async (_socket, _channel, data) => ({ data }),
  async call(socket, method, params) {
    const answer: string | Uint8Array = await socket.call(method, { params }, { timeoutMs: 5 });
    return { answer };
  },
});
// @ts-expect-error there is no such handler
app.ws('/', { mesage() {} });

// middlewares with Node's types
app.use(cors()).use('/api', helmet(), cors({ origin: 'https://example.org' }));
// @ts-expect-error a middleware has a response, not a text
app.use((_req: Request, res: string) => void res);

const options: AppOptions = { cookieSecret: process.env['SECRET'] };
const signing: App = express({ cookieSecret: ['new', 'old'] as const });
const another: App = new Express(options);
// @ts-expect-error a secret is a text
createApp({ cookieSecret: 5 });
// @ts-expect-error there is no such option
createApp({ cookieSecrets: 'a' });

app.get('/members', (req, res) => {
  const cookies: SignedCookies = req.signedCookies;
  const user: string | false | undefined = cookies['user'];
  const type: string | false | null = req.is('json', 'html');
  const best: string | false = req.accepts('html', 'json');
  const all: string[] = req.acceptsLanguages();
  const host: string | undefined = req.hostname ?? req.header('Host');
  const url: string = req.originalUrl;
  const setting: unknown = req.app.get('json body') ?? req.app.locals['title'];
  const cookie: CookieOptions = { maxAge: 1000, signed: true, sameSite: true, path: undefined };
  const value: string | string[] | undefined = res.getHeader('X-A');
  const names: string[] = res.getHeaderNames();
  const headers: Record<string, string | string[]> = res.getHeaders();
  const has: boolean = res.hasHeader('X-A') && res.headersSent && res.writableEnded;
  res.statusMessage = 'Fine';
  res.setHeader('X-A', ['1', '2']).appendHeader('X-A', '3').removeHeader('X-A');
  res.vary('Origin').location('/').header('X-B', 1).cookie('a', { b: 1 }, cookie).clearCookie('a').json([]);
  // @ts-expect-error a response of an app has no events
  res.on('finish', () => {});
  // @ts-expect-error a request of an app is no stream
  req.pipe(process.stdout);
  // @ts-expect-error a header is no object
  res.setHeader('X-A', {});
  return [user, type, best, all, host, url, setting, value, names, headers, has];
});

const server: AppServer = app.listen(0, '127.0.0.1', (error) => void error);
const ready: Promise<AppServer> = app.listen({ bind: ':0', limits: { connections: 1 } }).ready;
// @ts-expect-error workers are for `start`
app.listen({ bind: ':0', threads: 1 });
// @ts-expect-error a status is a number
const handler: Handler = (_req, res) => res.status('200');
const failing: ErrorHandler = (error, _req, _res, next) => next(error);
const gone: Promise<void> = server.close();

export { another, failing, gone, handler, made, other, ready, signing };
