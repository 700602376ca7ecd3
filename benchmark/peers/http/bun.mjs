// Peer: Bun's built-in server, for HTTP. Run with Bun.
import { handlerName, ready } from '../peer.mjs';
import { filePath, publicFolder, user, userPath } from './content.mjs';

const missing = () => new Response('not found', { status: 404 });
const handlers = {
  'http-file': {
    fetch: (request) =>
      request.url.endsWith(filePath) ? new Response(Bun.file(publicFolder + filePath.slice(1))) : missing(),
  },
  'http-fetch': {
    fetch: (request) => (request.url.endsWith(userPath) ? Response.json(user('7')) : missing()),
  },
  'http-app': {
    routes: { '/users/:id': { GET: (request) => Response.json(user(request.params.id)) } },
    fetch: missing,
  },
};

const server = Bun.serve({ hostname: '127.0.0.1', port: 0, idleTimeout: 0, ...handlers[handlerName] });
ready(server.port);
