// Peer: node:http2 without TLS for the rows of `sockety`.   --handler=sockety
import { createServer } from 'node:http2';
import { ready } from '../peer.mjs';
import { answer, count } from './http-answers.mjs';
import { settings } from './http2-settings.mjs';

const server = createServer(settings);
server.on('session', (session) => session.on('ping', count));
server.on('stream', (stream, headers) => {
  const size = Number(headers['content-length'] ?? 0);
  answer(headers[':path'], size, stream, (status, body) => {
    stream.respond({ ':status': status });
    stream.end(body);
  });
});
server.listen(0, '127.0.0.1', () => ready(server.address().port));
