// Peer: uWebSockets.js on Node with its native publish and subscribe. It is not on npm: this peer runs
// where the user has installed it so that it can be resolved from here, or with --package=FOLDER.
import { createRequire } from 'node:module';
import { channelNames, channelOf } from './channels.mjs';
import { compression, handlerName, option, ready } from './peer.mjs';

const uWS = createRequire(import.meta.url)(option('package', 'uWebSockets.js'));

const decoder = new TextDecoder();
let current = 0;
let members = 0;
const handlers = {
  echo(socket, bytes) {
    socket.send(bytes, false, false);
  },
  headline(socket, bytes) {
    const message = JSON.parse(decoder.decode(bytes));
    if (message.type === 'sub') {
      if (members === 10) {
        current++;
        members = 0;
      }
      members++;
      socket.subscribe(`g${current}`);
      socket.send(JSON.stringify({ type: 'sub-ack', ch: `g${current}` }), false, false);
    } else {
      app.publish(message.channel, JSON.stringify({ type: 'evt', t: message.t }), false, false);
      socket.send(JSON.stringify({ type: 'ack', t: message.t }), false, false);
    }
  },
  fanout(socket, bytes) {
    const text = decoder.decode(bytes);
    if (text[0] === 'p') {
      app.publish('all', text, false, compression);
    } else {
      if (text[0] === 's') socket.subscribe('all');
      socket.send(text, false, false);
    }
  },
  channels(socket, bytes) {
    const text = decoder.decode(bytes);
    if (text[0] === 'p') {
      app.publish(channelOf(text), text, false, false);
    } else {
      for (const name of channelNames(text)) socket.subscribe(name);
      socket.send(text, false, false);
    }
  },
};

const app = uWS.App().ws('/*', {
  compression: compression ? uWS.SHARED_COMPRESSOR : uWS.DISABLED,
  idleTimeout: 0,
  maxPayloadLength: 1024 * 1024,
  message: handlers[handlerName],
});
app.listen('127.0.0.1', 0, (listener) => {
  if (!listener) throw new Error('it could not listen');
  ready(uWS.us_socket_local_port(listener));
});
