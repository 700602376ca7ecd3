// @ts-check
/**
 * Keeps the whole state of each document. Pages subscribe, publish and tell their cursors by themselves.
 *
 * An update is part of the state before it gets its place in the channel. So a page that subscribes first, and then asks
 * for the state, misses nothing: what is not in the state yet arrives. What it gets twice changes nothing.
 */
import { CallError } from 'millrace';
import { add, nameOf, readName, stateOf } from './documents.mjs';

/**
 * @param {import('millrace').Name} channel
 * @param {string | Uint8Array} update
 */
export function handlePublish(channel, update) {
  if (typeof update === 'string') throw new CallError('bad', 'An update has bytes.');
  add(nameOf(channel), update);
  return true;
}

/**
 * `state` is the only method: it answers with the whole document as one update.
 * @param {string} method
 * @param {string | Uint8Array} params the document's name as JSON
 */
export function handleCall(method, params) {
  if (method !== 'state') throw new CallError('not_found');
  let name;
  try {
    name = JSON.parse(String(params));
  } catch {
    // refused below
  }
  return stateOf(readName(name));
}
