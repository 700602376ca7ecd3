// An app of Hono, as in its documentation, and handlers of sockets.
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { cors } from 'hono/cors';
import { HTTPException } from 'hono/http-exception';
import { logger } from 'hono/logger';
import { streamSSE, streamText } from 'hono/streaming';

import { send } from '../millrace.mjs';

const app = new Hono();
const lines = [];
app.use(logger((line) => lines.push(line)));
app.use('/api/*', cors());
app.get('/', (c) => c.text('Hello Hono'));
app.get('/api/users/:id', (c) => c.json({ id: c.req.param('id'), q: c.req.query('q'), ip: c.env.ip }));
app.post('/api/users', async (c) => c.json({ created: await c.req.json() }, 201));
app.post('/form', async (c) => c.json(await c.req.parseBody()));
app.get('/header', (c) => c.text(c.req.header('x-one') ?? 'none'));
app.get('/cookies', (c) => {
  c.header('Set-Cookie', 'a=1', { append: true });
  c.header('Set-Cookie', 'b=2', { append: true });
  return c.body(null, 204);
});
app.get('/stream', (c) =>
  streamText(c, async (stream) => {
    for (const word of ['one ', 'two ', 'three']) {
      await stream.write(word);
      await stream.sleep(2);
    }
  }),
);
app.get('/redirect', (c) => c.redirect('/'));
app.get('/forbidden', () => {
  throw new HTTPException(403, { message: 'not you' });
});
app.get('/broken', () => {
  throw new Error('broken');
});
app.onError((error, c) => (error instanceof HTTPException ? error.getResponse() : c.text('caught', 500)));
app.notFound((c) => c.text('nothing here', 404));
app.post('/limited', bodyLimit({ maxSize: 20, onError: (c) => c.text('too much', 413) }), async (c) =>
  c.text(`${await c.req.text()} of ${c.req.header('x-one')}`),
);
app.mount('/mounted', async (request) => new Response(`${request.method} ${request.url} ${await request.text()}`));
app.post('/twice', async (c) => c.json([await c.req.json(), await c.req.text()]));
app.get('/events', (c) =>
  streamSSE(c, async (stream) => {
    await stream.sleep(1000);
    await stream.writeSSE({ event: 'tick', data: 'one' });
  }),
);
app.get('/lines', (c) => c.json(lines.length));

export default app;

export function handleTextMessage(text, socketId) {
  send(socketId, text);
}
