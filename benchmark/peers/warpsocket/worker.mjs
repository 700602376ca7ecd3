// The worker of the WarpSocket peer.
import { handlers } from '../millrace/handlers.mjs';
import { load } from './load.mjs';

let handle;

export async function handleStart({ handler, folder }) {
  handle = handlers(await load(folder))[handler];
}

export function handleTextMessage(text, socketId) {
  handle(text, socketId);
}
