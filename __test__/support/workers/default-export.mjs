// A text handler that reports its `this`, and a default export with handlers that must not be used.
import { send } from '../millrace.mjs';

export function handleTextMessage(_text, socketId) {
  send(socketId, `this is ${this}`);
}

export default {
  handleTextMessage: (_text, socketId) => send(socketId, 'from the default export'),
  handleBinaryMessage: (_data, socketId) => send(socketId, 'from the default export'),
};
