// An app of H3 with WebSockets.
import { defineWebSocketHandler, H3, HTTPError } from 'h3';

import millraceAdapter from '../millrace-crossws.mjs';

const app = new H3();
app.use((event, next) => {
  event.res.headers.set('x-middleware', 'yes');
  return next();
});
app.get('/', () => 'a page');
app.get('/refused', () => {
  throw new HTTPError({ status: 402, message: 'pay first' });
});
app.get(
  '/chat/:room',
  defineWebSocketHandler({
    upgrade: (request) =>
      request.headers.get('cookie') === 'blocked' ? new Response('no', { status: 403 }) : undefined,
    open(peer) {
      peer.subscribe('room');
      peer.send(`in ${peer.namespace}`);
    },
    message: (peer, message) => peer.publish('room', message.text()),
  }),
);
app.get(
  '/dynamic',
  defineWebSocketHandler((event) => ({
    open: (peer) => peer.send(`hello ${event.url.searchParams.get('name')}`),
  })),
);

export default millraceAdapter({ fetch: app.fetch }).handlers;
