// @ts-check
/** The page: a text area, a document of Yjs and a channel. The document's name is in the address, behind `#`. */
import { createClient } from 'millrace/client';
import * as Y from 'yjs';
import { Editor } from './editor.mjs';
import { People } from './people.mjs';
import { Sync } from './sync.mjs';

/** @param {string} id */
const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const area = /** @type {HTMLTextAreaElement} */ (part('text'));
const name = /** @type {HTMLInputElement} */ (part('name'));

const shared = new Y.Doc();
const text = shared.getText('text');
const client = createClient(`${location.origin.replace(/^http/, 'ws')}/channels`);
client.onStatus((status) => {
  part('status').textContent = status;
});

new Editor(area, text);
const people = new People({ list: part('people'), cursors: part('cursors'), area, name }, text);
const sync = new Sync(client, location.hash.slice(1) || 'welcome', shared, people.callbacks, (problem = '') => {
  part('saved').textContent = sync.isSaved ? 'Saved.' : 'Changes wait.';
  if (!sync.isWhole) part('saved').textContent = 'Loading…';
  // It can be read and written without a connection, once it was there.
  if (sync.isWhole) area.disabled = false;
  if (problem !== '' || sync.isSaved) part('problem').textContent = problem;
});
people.begin(sync.subscription);

area.addEventListener('compositionstart', () => sync.hold());
// The last input of a word may follow.
area.addEventListener('compositionend', () => setTimeout(() => sync.release()));
addEventListener('hashchange', () => location.reload());
addEventListener('beforeunload', (event) => {
  if (!sync.isSaved) event.preventDefault();
});
