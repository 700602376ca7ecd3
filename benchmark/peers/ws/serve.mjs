// A server with the `ws` package: the part that the peer with one process and the one with several share.
import { createServer } from 'node:https';
import { WebSocketServer } from 'ws';
import { channelNames, channelOf } from '../channels.mjs';
import { compression, handlerName, tls } from '../peer.mjs';

const channels = new Map();

function join(channel, socket) {
  const members = channels.get(channel) ?? new Set();
  channels.set(channel, members.add(socket));
  socket.joined.push(members);
}

/** Sends to a channel's members in this process. The text is converted once for all, as usual with `ws`. */
export function deliver(channel, text) {
  const members = channels.get(channel);
  if (!members) return;
  const bytes = Buffer.from(text);
  for (const member of members) member.send(bytes, { binary: false });
}

/**
 * Listens and calls `listening` with the port. `publish` sends to a channel's members. `groupSize` is the
 * number of members that a group of the headline has in this process.
 */
export function serve({ publish, groupSize, listening }) {
  let current = 0;
  const handlers = {
    echo(socket, data) {
      socket.send(data, { binary: false });
    },
    headline(socket, data) {
      const message = JSON.parse(data.toString());
      if (message.type === 'sub') {
        if (channels.get(`g${current}`)?.size >= groupSize) current++;
        join(`g${current}`, socket);
        socket.send(JSON.stringify({ type: 'sub-ack', ch: `g${current}` }));
      } else {
        publish(message.channel, JSON.stringify({ type: 'evt', t: message.t }));
        socket.send(JSON.stringify({ type: 'ack', t: message.t }));
      }
    },
    fanout(socket, data) {
      const text = data.toString();
      if (text[0] === 'p') {
        publish('all', text);
      } else {
        if (text[0] === 's') join('all', socket);
        socket.send(text);
      }
    },
    channels(socket, data) {
      const text = data.toString();
      if (text[0] === 'p') {
        publish(channelOf(text), text);
      } else {
        for (const name of channelNames(text)) join(name, socket);
        socket.send(text);
      }
    },
  };
  const handle = handlers[handlerName];

  const where = { host: '127.0.0.1', port: 0, backlog: 4096 };
  const secured = tls && createServer(tls).listen(where);
  const server = new WebSocketServer({
    ...(secured ? { server: secured } : where),
    // the threshold is that of Millrace; without context takeover, as the generator offers it
    perMessageDeflate: compression && { threshold: 512, serverNoContextTakeover: true, clientNoContextTakeover: true },
  });
  server.on('connection', (socket) => {
    socket.joined = [];
    socket.on('message', (data) => handle(socket, data));
    socket.on('error', () => {});
    socket.on('close', () => {
      for (const members of socket.joined) members.delete(socket);
    });
  });
  server.on('listening', () => listening(server.address().port));
}
