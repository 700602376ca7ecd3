// The chat example's worker, with a method that ends its thread: an exception outside any handler.
import * as chat from '../../../examples/chat/worker.mjs';

export const { handleClose, handlePublish, handleSubscribe } = chat;

export function handleCall(method, params, socketId, token) {
  if (method !== 'die') return chat.handleCall(method, params, socketId, token);
  setImmediate(() => Promise.reject(new Error('told to die')));
}
