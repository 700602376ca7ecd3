// @ts-check
/**
 * The Server-Sent Events example: `node examples/server-sent-events/server.mjs`, then open the address it prints in two windows.
 *
 * PORT        where it listens, 3016 if it is not set; 0 picks a free one
 */
import { send, start, subscribe } from 'millrace';

const { PORT = '3016' } = process.env;

/** @type {Record<string, number>} */
const score = { home: 0, guests: 0 };

const server = await start({
  bind: `localhost:${PORT}`,
  static: { directory: new URL('./public/', import.meta.url) },
  origins: 'same-host',
  events: '/events',
  websocketPath: '/socket',
  limits: { bodyBytes: 1024 },
  handlers: { handleOpen, fetch },
  stopOnSignals: true,
  onError: (error) => console.error(error),
});
console.log(`Server-Sent Events example: http://localhost:${server.addresses[0]?.split(':').at(-1)}`);

/**
 * Event streams and WebSockets are both sockets. Each gets the score first, so that a client that reconnects has missed
 * nothing.
 * @param {number} socketId
 */
function handleOpen(socketId) {
  subscribe(socketId, 'score');
  send(socketId, JSON.stringify(score));
}

/** @param {Request} request */
async function fetch(request) {
  const { pathname } = new URL(request.url);
  if (pathname !== '/goals') return Response.json({ error: 'not found' }, { status: 404 });
  if (request.method !== 'POST') return new Response(null, { status: 405, headers: { allow: 'POST' } });
  // A form of another site's page cannot send this type.
  if (request.headers.get('content-type') !== 'application/json') return new Response(null, { status: 415 });
  const { team } = Object(await request.json().catch(() => null));
  if (!Object.hasOwn(score, team)) return Response.json({ error: 'team must be home or guests' }, { status: 400 });
  score[team] = (score[team] ?? 0) + 1;
  send('score', JSON.stringify(score));
  return Response.json(score, { status: 201 });
}
