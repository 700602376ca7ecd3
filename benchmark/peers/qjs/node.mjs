// Peer: the users of `qjs` with node:http alone, without any package.
import { createServer } from 'node:http';
import { ready } from '../peer.mjs';
import { find, users } from './users.mjs';

function send(response, status, value) {
  const body = JSON.stringify(value);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

const server = createServer({ keepAliveTimeout: 0 }, ({ method, url }, response) => {
  if (method === 'GET' && url === '/api/users') return send(response, 200, users);
  const [, id] = /^\/api\/users\/(\d+)$/.exec(url) ?? [];
  const user = method === 'GET' && id !== undefined && find(id);
  if (user) send(response, 200, user);
  else send(response, 404, { error: 'not found' });
});
server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () => ready(server.address().port));
