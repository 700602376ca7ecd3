// An app whose sockets count for the room in their path, and tell everyone when one of them closes.
import express from '../http-app.mjs';
import { send, subscribe } from '../millrace.mjs';

const app = express();
export default app;

app.ws('/rooms/:room', {
  open(socket) {
    subscribe(socket.id, 'all');
    return { limitKey: socket.params.room };
  },
  close(_socket, code, reason) {
    send('all', `closed: ${code} ${reason}`);
  },
});
