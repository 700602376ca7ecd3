/** Rooms: sockets talk in them, and programs say something in them by HTTP. */
import { defineWorker, send, subscribe } from 'millrace';
import { createApp, HttpError } from 'millrace/http';
import { type Message, readMessage } from './messages.js';

/** What the handlers are given. */
export interface Chat {
  /** `workerArg` of `start`. */
  arg: { rooms: string[] };
  /** What `handleOpen` attaches to a socket. */
  data: { name: string; room: string };
}

let rooms: readonly string[] = [];

const app = createApp();

app.get('/rooms', (_req, res) => res.json(rooms));

// `req.params.room` is a string because the path says so; another name does not compile.
app.post('/rooms/:room/messages', (req, res) => {
  const { room } = req.params;
  if (!rooms.includes(room)) throw new HttpError(404, `there is no room ${room}`);
  const message = readMessage(req.json);
  if (message === undefined) throw new HttpError(400, 'a message has from and text');
  res.json({ heard: say(room, message) }, 201);
});

export default app;

export const { handleStart, handleOpen, handleTextMessage } = defineWorker<Chat>({
  handleStart(arg) {
    rooms = arg.rooms;
  },

  handleOpen(socketId, _ip, _headers, request) {
    const room = rooms.find((name) => request.path === `/rooms/${name}`);
    if (room === undefined) return { status: 404 };
    subscribe(socketId, channelOf(room));
    return { token: { name: request.query.get('name') ?? 'guest', room } };
  },

  handleTextMessage(text, _socketId, member) {
    if (member !== undefined) say(member.room, { from: member.name, text });
  },
});

/** Returns how many sockets were told. */
function say(room: string, message: Message): number {
  return send(channelOf(room), JSON.stringify(message));
}

function channelOf(room: string): string {
  return `room ${room}`;
}
