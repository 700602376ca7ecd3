// Peer: Bun's built-in server with its native publish and subscribe. Run with Bun.
import { channelNames, channelOf } from './channels.mjs';
import { compression, handlerName, ready, tls } from './peer.mjs';

let current = 0;
let members = 0;
const handlers = {
  echo(socket, text) {
    socket.send(text);
  },
  headline(socket, text) {
    const message = JSON.parse(text);
    if (message.type === 'sub') {
      if (members === 10) {
        current++;
        members = 0;
      }
      members++;
      socket.subscribe(`g${current}`);
      socket.send(JSON.stringify({ type: 'sub-ack', ch: `g${current}` }));
    } else {
      server.publish(message.channel, JSON.stringify({ type: 'evt', t: message.t }));
      socket.send(JSON.stringify({ type: 'ack', t: message.t }));
    }
  },
  fanout(socket, text) {
    if (text[0] === 'p') {
      server.publish('all', text, compression);
    } else {
      if (text[0] === 's') socket.subscribe('all');
      socket.send(text);
    }
  },
  channels(socket, text) {
    if (text[0] === 'p') {
      server.publish(channelOf(text), text);
    } else {
      for (const name of channelNames(text)) socket.subscribe(name);
      socket.send(text);
    }
  },
};

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  ...(tls && { tls }),
  fetch(request, server) {
    if (!server.upgrade(request)) return new Response('expected a WebSocket', { status: 426 });
  },
  websocket: {
    idleTimeout: 0,
    perMessageDeflate: compression && { compress: 'shared', decompress: 'shared' },
    message: handlers[handlerName],
  },
});
ready(server.port);
