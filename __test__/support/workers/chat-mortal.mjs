// The chat example's worker, with a message that ends its thread: an exception outside any handler.
import * as chat from '../../../examples/chat/worker.mjs';

export const { handleBinaryMessage, handleClose } = chat;

export function handleTextMessage(text, socketId, token) {
  if (text !== 'die') chat.handleTextMessage(text, socketId, token);
  else setImmediate(() => Promise.reject(new Error('told to die')));
}
