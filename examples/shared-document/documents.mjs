// @ts-check
/**
 * The whole state of each document, as one update of Yjs. A channel keeps only the last updates; with the state, a page
 * that comes late needs no others. All workers share the gateway's key/value store, and change it by compare and set.
 */
import { CallError, getKey, setKeyIf } from 'millrace';
import * as Y from 'yjs';

/** The longest state of a document, in bytes. */
export const STATE_BYTES = 256 * 1024;
/** How many documents there can be. */
export const MOST_DOCUMENTS = 100;

const PREFIX = 'document:';
const NAME = /^[a-z0-9-]{1,40}$/;
const NAMES = 'documents';
const NOTHING = Y.encodeStateAsUpdate(new Y.Doc());

/** @param {unknown} channel */
export function nameOf(channel) {
  return readName(typeof channel === 'string' ? channel.slice(PREFIX.length) : undefined);
}

/** @param {unknown} name what a client sent */
export function readName(name) {
  if (typeof name === 'string' && NAME.test(name)) return name;
  throw new CallError('bad', 'A document has 1 to 40 small letters, digits or "-" in its name.');
}

/** @param {string} name @returns {Uint8Array} an update that makes the whole document */
export function stateOf(name) {
  return getKey(PREFIX + name) ?? NOTHING;
}

/**
 * Adds an update to a document's state.
 * @param {string} name
 * @param {Uint8Array} update
 */
export function add(name, update) {
  for (;;) {
    const before = getKey(PREFIX + name);
    if (before === undefined) register(name);
    const after = merged(before ?? NOTHING, update);
    if (after.length > STATE_BYTES) throw new CallError('limit', 'The document is full.');
    // Another worker may have stored an update meanwhile.
    if (setKeyIf(PREFIX + name, after, before)) return;
  }
}

/**
 * A document is made of both, rather than `Y.mergeUpdates`: that leaves out the content of what was deleted.
 * @param {Uint8Array} state
 * @param {Uint8Array} update
 */
function merged(state, update) {
  const document = new Y.Doc();
  try {
    Y.applyUpdate(document, state);
    Y.applyUpdate(document, update);
    return Y.encodeStateAsUpdate(document);
  } catch {
    throw new CallError('bad', 'That is not an update of Yjs.');
  } finally {
    document.destroy();
  }
}

/** @param {string} name */
function register(name) {
  for (;;) {
    const before = getKey(NAMES);
    /** @type {string[]} */
    const names = before === undefined ? [] : JSON.parse(new TextDecoder().decode(before));
    if (names.includes(name)) return;
    if (names.length >= MOST_DOCUMENTS) throw new CallError('limit', 'There are too many documents.');
    if (setKeyIf(NAMES, JSON.stringify([...names, name]), before)) return;
  }
}
