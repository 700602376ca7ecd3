// @ts-check
/**
 * State that all workers share: who is in which room, and the last messages there.
 *
 * Each worker is a thread with its own memory, so the members of one room are usually spread over several of them. The
 * gateway's key/value store is the memory they share. Each change reads a value, computes the next one and stores it
 * with `setKeyIf`, which fails if another worker has stored a value meanwhile; then the change is computed again. One
 * of the competing workers always succeeds.
 *
 * Everything is bounded: members and messages per room, and rooms that are remembered while empty.
 */
import { getKey, setKey, setKeyIf } from 'millrace';

/** The number of this node, and how many nodes there are: no two nodes give the same id. */
let place = { node: 0, nodes: 1 };

/** @param {{ node: number, nodes: number }} own */
export function setPlace(own) {
  place = own;
}

/** @param {number} socketId @returns {number} the member's id, of no other on any node */
export function memberId(socketId) {
  return socketId * place.nodes + place.node;
}

/** How many messages a new member gets. */
export const HISTORY_LENGTH = 50;
/** Members of one room. */
export const ROOM_SIZE = 250;
/** How many empty rooms keep their history; the one that has been empty longest is removed first. */
export const EMPTY_ROOMS = 100;

/**
 * @typedef {import('./protocol.mjs').Member} Member
 * @typedef {import('./protocol.mjs').Message} Message
 * @typedef {{ version: number, members: Member[] }} Presence
 *   the version grows with each change, so that a page knows which changes a list already contains
 */

/**
 * @param {string} room
 * @param {Member} member
 * @returns {Presence | undefined} the room with the new member; undefined: it is full
 */
export function enter(room, member) {
  let full = false;
  const presence = update(membersKey(room), (/** @type {Presence | undefined} */ before) => {
    const others = before?.members.filter(({ id }) => id !== member.id) ?? [];
    full = others.length >= ROOM_SIZE;
    return full ? before : { version: later(before?.version), members: [...others, member] };
  });
  if (full) return undefined;
  update(EMPTY, (/** @type {string[] | undefined} */ names = []) => names.filter((name) => name !== room));
  return presence;
}

/**
 * @param {string} room
 * @param {number} id
 * @returns {number | undefined} the version without the member; undefined: it was not there
 */
export function leave(room, id) {
  /** @type {number | undefined} */
  let version;
  const presence = update(membersKey(room), (/** @type {Presence | undefined} */ before) => {
    const members = before?.members.filter((member) => member.id !== id) ?? [];
    const there = before !== undefined && members.length < before.members.length;
    version = there ? later(before.version) : undefined;
    if (!there || version === undefined) return before;
    return members.length > 0 ? { version, members } : undefined;
  });
  if (presence === undefined && version !== undefined) rememberEmpty(room);
  return version;
}

/** @param {string} room @returns {Message[]} oldest first */
export function history(room) {
  return parse(getKey(historyKey(room))) ?? [];
}

/**
 * Adds a message to the room's history and gives it its id: larger than all before it in this room,
 * so that a page can sort by it and knows what it already has.
 * @param {string} room
 * @param {{ from: number, alias: string, body: string }} said
 * @returns {Message}
 */
export function record(room, said) {
  const messages = update(historyKey(room), (/** @type {Message[] | undefined} */ before = []) => {
    const message = { ...said, id: later(before.at(-1)?.id), timestamp: Date.now() };
    return [...before, message].slice(-HISTORY_LENGTH);
  });
  return /** @type {Message} */ (messages?.at(-1));
}

/**
 * The current time, or one more than `previous` if the clock has not advanced, rounded up to the next number of this
 * node. It grows from one call to the next, even after the store was emptied or the server restarted.
 * @param {number} [previous]
 */
function later(previous = 0) {
  const next = Math.max(Date.now(), previous + 1);
  const { node, nodes } = place;
  return next + ((node - (next % nodes) + nodes) % nodes);
}

/** @param {string} room */
function rememberEmpty(room) {
  /** @type {string[]} */
  let forgotten = [];
  update(EMPTY, (/** @type {string[] | undefined} */ before = []) => {
    const names = [...before.filter((name) => name !== room), room];
    forgotten = names.slice(0, -EMPTY_ROOMS);
    return names.slice(-EMPTY_ROOMS);
  });
  for (const name of forgotten) {
    // Someone may have joined since the last member left.
    if (getKey(membersKey(name)) === undefined) setKey(historyKey(name));
  }
}

/**
 * Repeats compare-and-set until no other worker has changed the value in between.
 * @template T
 * @param {string} key
 * @param {(before: T | undefined) => T | undefined} change may run several times; undefined deletes
 * @returns {T | undefined} what is stored now
 */
function update(key, change) {
  for (;;) {
    const before = getKey(key);
    const after = change(parse(before));
    const stored = after === undefined ? undefined : JSON.stringify(after);
    if (setKeyIf(key, stored, before)) return after;
  }
}

/** @param {Uint8Array | undefined} bytes */
function parse(bytes) {
  return bytes === undefined ? undefined : JSON.parse(decoder.decode(bytes));
}

/** @param {string} room */
function membersKey(room) {
  return `chat/members/${room}`;
}

/** @param {string} room */
function historyKey(room) {
  return `chat/history/${room}`;
}

const EMPTY = 'chat/empty-rooms';
const decoder = new TextDecoder();
