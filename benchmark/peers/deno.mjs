// Peer: Deno's built-in server. It has no channels of its own: a broadcast is a loop. Run with Deno.
import { channelNames, channelOf } from './channels.mjs';
import { handlerName, ready } from './peer.mjs';

const channels = new Map();

function join(channel, socket) {
  const members = channels.get(channel) ?? new Set();
  channels.set(channel, members.add(socket));
  socket.joined.push(members);
}

function publish(channel, text) {
  for (const member of channels.get(channel) ?? []) {
    if (member.readyState === WebSocket.OPEN) member.send(text);
  }
}

let current = 0;
const handlers = {
  echo(socket, text) {
    socket.send(text);
  },
  headline(socket, text) {
    const message = JSON.parse(text);
    if (message.type === 'sub') {
      if (channels.get(`g${current}`)?.size >= 10) current++;
      join(`g${current}`, socket);
      socket.send(JSON.stringify({ type: 'sub-ack', ch: `g${current}` }));
    } else {
      publish(message.channel, JSON.stringify({ type: 'evt', t: message.t }));
      socket.send(JSON.stringify({ type: 'ack', t: message.t }));
    }
  },
  fanout(socket, text) {
    if (text[0] === 'p') {
      publish('all', text);
    } else {
      if (text[0] === 's') join('all', socket);
      socket.send(text);
    }
  },
  channels(socket, text) {
    if (text[0] === 'p') {
      publish(channelOf(text), text);
    } else {
      for (const name of channelNames(text)) join(name, socket);
      socket.send(text);
    }
  },
};
const handle = handlers[handlerName];

Deno.serve({ hostname: '127.0.0.1', port: 0, onListen: ({ port }) => ready(port) }, (request) => {
  if (request.headers.get('upgrade') !== 'websocket') return new Response('expected a WebSocket', { status: 426 });
  const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout: 0 });
  socket.joined = [];
  socket.onmessage = ({ data }) => handle(socket, data);
  socket.onclose = () => {
    for (const members of socket.joined) members.delete(socket);
  };
  return response;
});
