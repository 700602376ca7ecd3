// An app of H3, as in its documentation, and handlers of sockets.
import { getQuery, H3, HTTPError, readBody, redirect, setCookie } from 'h3';

import { send } from '../millrace.mjs';

const app = new H3();
app.get('/', () => 'Hello H3');
app.get('/api/users/:id', (event) => ({ id: event.context.params.id, q: getQuery(event).q }));
app.post('/api/users', async (event) => {
  event.res.status = 201;
  return { created: await readBody(event) };
});
app.post('/text', async (event) => {
  event.res.headers.set('x-type', event.req.method);
  return event.req.text();
});
app.get('/header', (event) => event.req.headers.get('x-one'));
app.get('/cookies', (event) => {
  setCookie(event, 'a', '1');
  setCookie(event, 'b', '2');
  return 'set';
});
app.get('/stream', () => new Blob(['one ', 'two ', 'three']).stream());
app.get('/redirect', () => redirect('/'));
app.get('/forbidden', () => {
  throw new HTTPError({ status: 403, message: 'not you' });
});

export default app;

export function handleTextMessage(text, socketId) {
  send(socketId, text);
}
