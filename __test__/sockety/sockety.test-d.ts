// What TypeScript makes of the servers, clients and messages of millrace/sockety. Compiled, not run.
import {
  type Connection,
  type ConnectionOptions,
  connect,
  createSecureServer,
  createServer,
  Draft,
  FastReply,
  FileTransfer,
  heartbeat,
  type Message,
  MessageHandler,
  type Request,
  type Response,
  ResponseDraft,
  type Server,
  type SocketyError,
  secureConnect,
  series,
  // biome-ignore lint/correctness/useImportExtensions: the built file, as users get it
} from '../../js/dist/sockety.mjs';

const shared: ConnectionOptions = { timeout: 1000, maxDataSize: 10, sendGoAway: false };
const server: Server = createServer(shared, (connection) => {
  connection.on('message', (message: Message) => void message.accept());
  connection.on('error', (error: Error) => void (error as SocketyError).code);
  connection.on('fastReply', (id, code) => void [id.toBuffer(), code.toFixed()]);
  // @ts-expect-error there is no such event
  connection.on('messages', () => {});
});
void server.listen(0, '127.0.0.1', () => {}).then((same: Server) => same.address());
void server.listen({ path: '/tmp/x', signal: AbortSignal.timeout(1) });
void server.broadcast(heartbeat, (connection) => connection.remotePort === 1);
void createServer((connection: Connection) => connection.close(true));
void createServer({ stopOnSignals: true }).stopped.then((nothing: void) => nothing);
server.stopOnSignals({ drain: 1 });
// @ts-expect-error only `drain`
createServer({ stopOnSignals: { time: 1 } });
void createSecureServer({ cert: 'x', key: 'y', requestCert: true, ALPNProtocols: ['a'] });
// @ts-expect-error an option of node:net that has no effect here
void createServer({ pauseOnConnect: true });

const client: Connection = connect(1, 'localhost', { family: 4 });
void connect({ path: '/tmp/x' });
void secureConnect({ port: 1, servername: 'a.example', ca: ['x'], rejectUnauthorized: true });
// @ts-expect-error TLS is for secureConnect
void connect({ port: 1, ca: 'x' });

const draft = Draft.for('a').data().files().stream().optimize();
const request: Request = client.send(draft({ data: 'x', files: [FileTransfer.buffer(Buffer.alloc(1), 'a')] }));
request.stream?.end('x');
void request.response(10).then((answer: Response | number) => typeof answer === 'number' && FastReply[answer]);
void client.pass(series(draft(), heartbeat));
// @ts-expect-error a draft is called to make what is sent
void client.send(Draft.for('a'));

const pong = new ResponseDraft().msgpack();
const handler: MessageHandler = new MessageHandler()
  .action('a', (message) => {
    message.respond(pong({ data: { any: 'thing' } }));
    void message.files[0]?.saveTo(`/tmp/${message.files[0].safeName}`);
  })
  .use((_message, error) => (error === null ? FastReply.NotImplemented : undefined));
client.on('message', handler);
