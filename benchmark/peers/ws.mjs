// Peer: the `ws` package on Node, one thread.
import { WebSocketServer } from 'ws';
import { handlerName, ready } from './peer.mjs';

const channels = new Map();

function join(channel, socket) {
  const members = channels.get(channel) ?? new Set();
  channels.set(channel, members.add(socket));
  socket.joined = members;
}

// One conversion for all members, as users of `ws` do it.
function broadcast(channel, text) {
  const bytes = Buffer.from(text);
  for (const member of channels.get(channel) ?? []) member.send(bytes, { binary: false });
}

let current = 0;
const handlers = {
  echo(socket, data) {
    socket.send(data, { binary: false });
  },
  headline(socket, data) {
    const message = JSON.parse(data.toString());
    if (message.type === 'sub') {
      if (channels.get(`g${current}`)?.size >= 10) current++;
      join(`g${current}`, socket);
      socket.send(JSON.stringify({ type: 'sub-ack', ch: `g${current}` }));
    } else {
      broadcast(message.channel, JSON.stringify({ type: 'evt', t: message.t }));
      socket.send(JSON.stringify({ type: 'ack', t: message.t }));
    }
  },
  fanout(socket, data) {
    const text = data.toString();
    if (text[0] === 'p') {
      broadcast('all', text);
    } else {
      if (text[0] === 's') join('all', socket);
      socket.send(text);
    }
  },
};
const handle = handlers[handlerName];

const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false, backlog: 4096 });
server.on('connection', (socket) => {
  socket.on('message', (data) => handle(socket, data));
  socket.on('error', () => {});
  socket.on('close', () => socket.joined?.delete(socket));
});
server.on('listening', () => ready(server.address().port));
