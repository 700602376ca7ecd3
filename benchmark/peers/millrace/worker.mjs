// The worker of the Millrace peer: the same three handlers as the other peers.
import { send, subscribe } from 'millrace';

// Channel names are unique per worker: workers do not see each other's counters.
const prefix = `w${process.pid}-${Math.random().toString(36).slice(2, 6)}-`;
let current = 0;
let members = 0;
const handlers = {
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
};

let handle;

export function handleStart({ handler }) {
  handle = handlers[handler];
}

export function handleTextMessage(text, socketId) {
  handle(text, socketId);
}
