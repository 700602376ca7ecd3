// The handlers of the workers of Millrace and of WarpSocket, which have functions of the same names.
import { channelNames, channelOf } from '../channels.mjs';

/** The handlers, with the package's `send` and `subscribe`. */
export function handlers({ send, subscribe }) {
  // Channel names are unique per worker: workers do not see each other's counters.
  const prefix = `w${process.pid}-${Math.random().toString(36).slice(2, 6)}-`;
  let current = 0;
  let members = 0;
  return {
    echo(text, socketId) {
      send(socketId, text);
    },
    headline(text, socketId) {
      const message = JSON.parse(text);
      if (message.type === 'sub') {
        if (members === 10) {
          current++;
          members = 0;
        }
        members++;
        const ch = prefix + current;
        subscribe(socketId, ch);
        send(socketId, JSON.stringify({ type: 'sub-ack', ch }));
      } else {
        send(message.channel, JSON.stringify({ type: 'evt', t: message.t }));
        send(socketId, JSON.stringify({ type: 'ack', t: message.t }));
      }
    },
    fanout(text, socketId) {
      if (text[0] === 'p') {
        send('all', text);
      } else {
        if (text[0] === 's') subscribe(socketId, 'all');
        send(socketId, text);
      }
    },
    channels(text, socketId) {
      if (text[0] === 'p') {
        send(channelOf(text), text);
      } else {
        for (const name of channelNames(text)) subscribe(socketId, name);
        send(socketId, text);
      }
    },
  };
}
