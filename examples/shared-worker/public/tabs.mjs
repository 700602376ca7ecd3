// @ts-check
/**
 * The SharedWorker: one connection for all tabs of this origin. It keeps the last notes, so that a new tab shows them at
 * once.
 */
import { createClient } from '/client.mjs';

const KEPT = 50;

const client = createClient(`${location.origin.replace(/^http/, 'ws')}/channels`);
/** @type {Map<number, unknown>} the notes by their offsets, so that none is in it twice */
const notes = new Map();
/** @type {Set<MessagePort>} */
const tabs = new Set();

const room = client.subscribe('notes', {
  last: KEPT,
  onMessage: (message) => add([message]),
  // more was missed than the server keeps: begin anew with what it has
  onGap: async () => {
    notes.clear();
    add(await lastNotes());
  },
});
client.onStatus((status) => tell({ status }));

/** The last notes that the server keeps. It is asked again if the connection is lost meanwhile. */
async function lastNotes() {
  for (;;) {
    try {
      return (await room.history({ limit: KEPT, reverse: true })).publications;
    } catch (error) {
      if (client.status === 'closed' || !['closed', 'timeout'].includes(error.code)) throw error;
    }
  }
}

/** @param {{ offset: number, data: unknown }[]} more */
function add(more) {
  for (const { offset, data } of more) notes.set(offset, data);
  for (const offset of [...notes.keys()].sort((one, other) => one - other).slice(0, -KEPT)) notes.delete(offset);
  tell({ notes });
}

/** @param {object} message to all tabs */
function tell(message) {
  for (const tab of tabs) tab.postMessage(message);
}

globalThis.addEventListener('connect', ({ ports: [tab] }) => {
  tabs.add(tab);
  tell({ tabs: tabs.size });
  tab.postMessage({ status: client.status, notes });
  tab.onmessage = async ({ data: { lock, text } }) => {
    // A tab holds its lock for as long as it is open: this is how its end is noticed.
    if (lock !== undefined) await navigator.locks.request(lock, () => leave(tab));
    else if (text !== undefined)
      await client.publish('notes', text).catch(({ message }) => tab.postMessage({ error: message }));
  };
});

/** @param {MessagePort} tab */
function leave(tab) {
  tabs.delete(tab);
  tell({ tabs: tabs.size });
}
