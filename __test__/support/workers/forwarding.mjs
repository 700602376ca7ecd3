// Forwards long texts in all ways that a handler can: the first word of a text selects one.
import { close, createVirtualSocket, send, subscribe } from 'millrace';

const ROOM = 'room';

export function handleOpen(socketId) {
  subscribe(socketId, ROOM);
}

const WAYS = {
  back: (text, id) => send(id, text),
  room: (text) => send(ROOM, text),
  others: (text, id) => send(ROOM, text, { except: id }),
  /** A short reply that is not sent yet, the same text twice, and a changed one. */
  mixed: (text, id) => {
    send(id, 'first');
    send(id, text);
    send([id, ROOM], text, { except: [] });
    send(id, text.replace('mixed', 'other'));
    send(id, 'last');
  },
  later: async (text, id) => {
    await null;
    send(id, text);
  },
  alias: (text, id) => {
    const alias = createVirtualSocket(id, 'to the alias: ');
    send(alias, text);
  },
  nobody: (text, id) => send(id, String(send([], text) + send('an empty channel', text))),
  wrong: (text, id) => {
    try {
      send({}, text);
    } catch (error) {
      send(id, error.message);
    }
    send(id, text);
  },
  gone: (text, id) => {
    send(id, text);
    close(id, 4000, 'done');
  },
};

export function handleTextMessage(text, socketId) {
  return WAYS[text.slice(0, text.indexOf(' '))](text, socketId);
}
