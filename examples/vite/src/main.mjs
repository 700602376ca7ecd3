// @ts-check
/** The page: shows what is published in a channel, and publishes what is typed. */
import { channels } from './channels.mjs';

const CHANNEL = 'lobby';
const KEPT = 100;
const status = /** @type {HTMLElement} */ (document.getElementById('status'));
const messages = /** @type {HTMLElement} */ (document.getElementById('messages'));
const form = /** @type {HTMLFormElement} */ (document.getElementById('form'));

channels.onStatus(() => {
  status.textContent = channels.status;
});
channels.subscribe(CHANNEL, ({ data }) => {
  messages.append(Object.assign(document.createElement('li'), { textContent: data }));
  if (messages.childElementCount > KEPT) messages.firstElementChild?.remove();
});
form.addEventListener('submit', (event) => {
  event.preventDefault();
  // keep the text if it could not be sent
  if (channels.publish(CHANNEL, new FormData(form).get('text'))) form.reset();
});
