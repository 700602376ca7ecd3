// The types of `millrace/crossws` and of `attach`, as a program sees them.
import { createServer } from 'node:http';
import type { AdapterInstance, Hooks } from 'crossws';
import { H3 } from 'h3';
// biome-ignore lint/correctness/useImportExtensions: the built file, not its types
import * as adapters from '../../js/dist/crossws.mjs';
// biome-ignore lint/correctness/useImportExtensions: the built file, not its types
import * as millrace from '../../js/dist/index.mjs';
// biome-ignore lint/correctness/useImportExtensions: the built file, not its types
import { nodeHandler } from '../../js/dist/node.mjs';

const { millraceAdapter } = adapters;
const { attach, defineWorker, ping, start, terminate } = millrace;

const hooks: Partial<Hooks> = {
  upgrade: (request) => ({ headers: { 'x-path': request.url }, context: { user: 1 }, namespace: 'n' }),
  open: (peer) => peer.subscribe('topic'),
  message: (peer, message) => peer.publish('topic', message.json<{ a: number }>().a),
};
const options: adapters.CrosswsOptions = {
  hooks,
  getNamespace: (request) => request.url,
  handleProtocols: (offered) => [...offered][0],
};
const adapter: adapters.CrosswsAdapter = millraceAdapter(options);
const instance: AdapterInstance = adapter;
void instance;
adapter.publish('topic', { a: 1 }, { namespace: 'n' });
adapter.closeAll(1000, 'bye', true);
for (const [namespace, peers] of adapter.peers) for (const peer of peers) peer.send(`${namespace} ${peer.id}`);
const handlers: adapters.CrosswsHandlers = adapter.handlers;
void (() => start({ bind: ':0', handlers }));
void (() => start({ bind: ':0', handlers: { ...handlers, fetch: () => new Response() } }));
void (() => start({ bind: ':0', handlers: { ...nodeHandler(() => undefined), ...handlers } }));
void (() => millraceAdapter({ fetch: new H3().fetch }));
// @ts-expect-error limits find silent clients
millraceAdapter({ idleTimeout: 30 });
// @ts-expect-error there is no such hook
millraceAdapter({ hooks: { connection() {} } });

const attachOptions: millrace.AttachOptions = {
  websocketPath: '/ws',
  workerPath: './worker.js',
  limits: { messageBytes: 1 },
};
const attached: Promise<millrace.Server> = attach(createServer(), attachOptions);
void attached;
void attach(createServer(), { handlers });
// @ts-expect-error the server listens
void attach(createServer(), { bind: ':0', handlers });

const worker = defineWorker<{ data: { user: string } }>({
  handleOpen: (_socketId, _ip, _headers, request) => (request.encrypted ? { token: { user: 'a' } } : false),
  handlePing(socketId, token, data) {
    const sent: boolean = ping(socketId, data);
    void [sent, token?.user];
  },
  handlePong: (socketId) => void terminate(socketId),
});
void worker;
