// An app of itty-router, as in its documentation, and handlers of sockets.
import { AutoRouter, cors, error, html, status, withContent } from 'itty-router';

import { send } from '../millrace.mjs';

const { preflight } = cors();
const router = AutoRouter({ before: [preflight] });
router
  .get('/', () => html('Hello itty'))
  .get('/api/users/:id', ({ id, query }, info) => ({ id, q: query.q, ip: info.ip }))
  .post('/api/users', withContent, ({ content }) => ({ created: content }))
  .post('/text', async (request) => new Response(await request.text(), { headers: { 'x-type': request.method } }))
  .get('/header', ({ headers }) => headers.get('x-one'))
  .get('/empty', () => status(204))
  .get('/forbidden', () => error(403, 'not you'))
  .get('/broken', () => {
    throw new Error('broken');
  });

export default router;

export function handleTextMessage(text, socketId) {
  send(socketId, text);
}
