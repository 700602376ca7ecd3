// Peer: Express on Node.
import express from 'express';
import { handlerName, ready } from '../peer.mjs';
import { publicFolder, user } from './content.mjs';

const app = express();
if (handlerName === 'http-file') app.use(express.static(publicFolder));
else app.get('/users/:id', (request, response) => response.json(user(request.params.id)));

const server = app.listen(0, '127.0.0.1', () => ready(server.address().port));
server.keepAliveTimeout = 0;
