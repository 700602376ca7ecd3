// Peer: Socket.IO on Node, WebSocket only, rooms for channels. One event `m` with one argument.
import { createServer } from 'node:http';
import { Server } from 'socket.io';
import { channelNames, channelOf } from './channels.mjs';
import { handlerName, ready } from './peer.mjs';

let current = 0;
const handlers = {
  echo(socket, text) {
    socket.emit('m', text);
  },
  headline(socket, message) {
    if (message.type === 'sub') {
      if (io.sockets.adapter.rooms.get(`g${current}`)?.size >= 10) current++;
      socket.join(`g${current}`);
      socket.emit('m', { type: 'sub-ack', ch: `g${current}` });
    } else {
      io.to(message.channel).emit('m', { type: 'evt', t: message.t });
      socket.emit('m', { type: 'ack', t: message.t });
    }
  },
  fanout(socket, text) {
    if (text[0] === 'p') {
      io.to('all').emit('m', text);
    } else {
      if (text[0] === 's') socket.join('all');
      socket.emit('m', text);
    }
  },
  channels(socket, text) {
    if (text[0] === 'p') {
      io.to(channelOf(text)).emit('m', text);
    } else {
      socket.join(channelNames(text));
      socket.emit('m', text);
    }
  },
};
const handle = handlers[handlerName];

const http = createServer();
const io = new Server(http, { transports: ['websocket'], serveClient: false });
io.on('connection', (socket) => {
  socket.on('m', (message) => handle(socket, message));
});
http.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () => ready(http.address().port));
