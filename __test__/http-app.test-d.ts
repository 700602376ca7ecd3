// The types of `millrace/http`, as a program sees them.
import express, {
  type App,
  type AppServer,
  createApp,
  type ErrorHandler,
  Express,
  type Fields,
  type Handler,
  HttpError,
  json,
  type Next,
  type Request,
  type Response,
  Router,
  type Socket,
  // biome-ignore lint/correctness/useImportExtensions: the built file, as users get it
} from '../js/dist/http.mjs';

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
    socket.publish('room', data);
  },
});
// @ts-expect-error there is no such handler
app.ws('/', { mesage() {} });

const server: AppServer = app.listen(0, '127.0.0.1', (error) => void error);
const ready: Promise<AppServer> = app.listen({ bind: ':0', limits: { connections: 1 } }).ready;
// @ts-expect-error workers are for `start`
app.listen({ bind: ':0', threads: 1 });
// @ts-expect-error a status is a number
const handler: Handler = (_req, res) => res.status('200');
const failing: ErrorHandler = (error, _req, _res, next) => next(error);
const gone: Promise<void> = server.close();

export { failing, gone, handler, made, other, ready };
