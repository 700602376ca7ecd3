// An app of version 1 of H3, as Nitro 2 and Nuxt 4 make it: a listener of Node.js, and hooks that it resolves.
import { createApp, createRouter, defineEventHandler, defineWebSocketHandler, toNodeListener } from 'h3v1';

import millraceAdapter from '../millrace-crossws.mjs';
import { nodeHandler } from '../millrace-node.mjs';

const app = createApp();
const router = createRouter();
router.get(
  '/',
  defineEventHandler(() => 'a page'),
);
router.get(
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
app.use(router);

export default { ...nodeHandler(toNodeListener(app)), ...millraceAdapter(app.websocket).handlers };
