// The worker of the Millrace peer in `qjs`, by a fetch handler.
import { find, users } from './users.mjs';

export function fetch(request) {
  const { pathname } = new URL(request.url);
  if (request.method === 'GET' && pathname === '/api/users') return Response.json(users);
  const [, id] = /^\/api\/users\/(\d+)$/.exec(pathname) ?? [];
  const user = request.method === 'GET' && id !== undefined && find(id);
  return user ? Response.json(user) : Response.json({ error: 'not found' }, { status: 404 });
}
