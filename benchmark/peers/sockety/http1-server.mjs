// Peer: node:http for the rows of `sockety`.   --handler=sockety
import { createServer } from 'node:http';
import { ready } from '../peer.mjs';
import { answer } from './http-answers.mjs';

const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
  const size = Number(request.headers['content-length'] ?? 0);
  answer(request.url, size, request, (status, body) => {
    response.writeHead(status, { 'content-length': body.length });
    response.end(body);
  });
});
server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () => ready(server.address().port));
