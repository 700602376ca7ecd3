// The worker of the Millrace peer in `http-fetch`.
import { user, userPath } from '../http/content.mjs';

export function fetch(request) {
  return request.url.endsWith(userPath) ? Response.json(user('7')) : new Response('not found', { status: 404 });
}
