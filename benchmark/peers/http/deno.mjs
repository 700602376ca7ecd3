// Peer: Deno's built-in server, for HTTP. Run with Deno.
import { ready } from '../peer.mjs';
import { user, userPath } from './content.mjs';

Deno.serve({ hostname: '127.0.0.1', port: 0, onListen: ({ port }) => ready(port) }, (request) =>
  request.url.endsWith(userPath) ? Response.json(user('7')) : new Response('not found', { status: 404 }),
);
