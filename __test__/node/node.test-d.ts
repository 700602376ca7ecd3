// The types of `millrace/node`: what `nodeHandler` accepts, and where its result may be used.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
// biome-ignore lint/correctness/useImportExtensions: the built files, as users get them
import { start } from '../../js/dist/index.mjs';
// biome-ignore lint/correctness/useImportExtensions: the built files, as users get them
import { type NodeHandler, nodeHandler } from '../../js/dist/node.mjs';

const listener = (request: IncomingMessage, response: ServerResponse): void => {
  response.end(request.url);
};
const handler: NodeHandler = nodeHandler(listener);
nodeHandler(Promise.resolve(listener));
nodeHandler(createServer(listener));
nodeHandler({ callback: () => listener });
nodeHandler({ routing: listener, ready: async () => undefined });
nodeHandler({ init: async () => undefined, getHttpAdapter: () => ({ getInstance: () => listener }) });
void start({ bind: '127.0.0.1:0', handlers: handler });

// @ts-expect-error no listener
nodeHandler('app');
// @ts-expect-error no listener
nodeHandler((text: string) => text);
