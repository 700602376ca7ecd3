// The chat example's worker, with a message that ends its thread.
import * as chat from '../../../examples/chat/worker.mjs';

export const { handleBinaryMessage, handleClose } = chat;

export function handleTextMessage(text, socketId, token) {
  if (text === 'die') process.exit(1);
  chat.handleTextMessage(text, socketId, token);
}
