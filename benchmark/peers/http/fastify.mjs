// Peer: Fastify on Node.
import fastify from 'fastify';
import { ready } from '../peer.mjs';
import { user } from './content.mjs';

const app = fastify({ keepAliveTimeout: 3_600_000 });
app.get('/users/:id', async (request) => user(request.params.id));
await app.listen({ host: '127.0.0.1', port: 0 });
ready(app.server.address().port);
