// Peer: node:http alone, without any package.
import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { handlerName, ready } from '../peer.mjs';
import { filePath, publicFolder, user, userPath } from './content.mjs';

function sendFile(response) {
  const path = publicFolder + filePath.slice(1);
  response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8', 'content-length': statSync(path).size });
  createReadStream(path).pipe(response);
}

function sendUser(response) {
  const body = JSON.stringify(user('7'));
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

const [path, answer] = handlerName === 'http-file' ? [filePath, sendFile] : [userPath, sendUser];
const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
  if (request.method === 'GET' && request.url === path) answer(response);
  else response.writeHead(404).end();
});
server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () => ready(server.address().port));
