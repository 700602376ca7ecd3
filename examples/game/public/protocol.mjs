// @ts-check
/**
 * The messages between server, page and bots: binary, big-endian. The first byte of a message from the server is its
 * kind.
 *
 * | message | bytes |
 * |---|---|
 * | input, of a client | sequence 1, keys 1 |
 * | welcome | kind 1, own id 2, width 2, height 2 |
 * | snapshot | kind 1, tick 4, then for each player id 2, x 2, y 2, sequence 1, keys 1 |
 *
 * Coordinates are in 1/16 of a pixel. A player's sequence is that of its last input that the tick has processed.
 *
 * @typedef {{ id: number, x: number, y: number, sequence: number, keys: number }} Player
 */

export const WELCOME = 1;
export const SNAPSHOT = 2;

/** The keys that a player holds are a sum of these. */
export const KEYS = { left: 1, right: 2, up: 4, down: 8 };
const ALL_KEYS = 15;

const SNAPSHOT_HEAD = 5;
const PLAYER_BYTES = 8;
const PER_PIXEL = 16;

/** @param {{ sequence: number, keys: number }} input */
export function encodeInput({ sequence, keys }) {
  return Uint8Array.of(sequence, keys);
}

/**
 * @param {Uint8Array} bytes from a client, who may send anything
 * @returns {{ sequence: number, keys: number } | undefined} undefined: it is no input
 */
export function decodeInput(bytes) {
  const [sequence, keys] = bytes;
  if (bytes.length !== 2 || sequence === undefined || keys === undefined || keys > ALL_KEYS) return undefined;
  return { sequence, keys };
}

/** @param {{ id: number, width: number, height: number }} welcome */
export function encodeWelcome({ id, width, height }) {
  const view = new DataView(new ArrayBuffer(7));
  view.setUint8(0, WELCOME);
  view.setUint16(1, id);
  view.setUint16(3, width);
  view.setUint16(5, height);
  return new Uint8Array(view.buffer);
}

/** @param {DataView} view */
export function decodeWelcome(view) {
  return { id: view.getUint16(1), width: view.getUint16(3), height: view.getUint16(5) };
}

/**
 * @param {number} tick
 * @param {Iterable<Player>} players
 * @param {number} count how many they are
 */
export function encodeSnapshot(tick, players, count) {
  const view = new DataView(new ArrayBuffer(SNAPSHOT_HEAD + count * PLAYER_BYTES));
  view.setUint8(0, SNAPSHOT);
  view.setUint32(1, tick);
  let at = SNAPSHOT_HEAD;
  for (const { id, x, y, sequence, keys } of players) {
    view.setUint16(at, id);
    view.setUint16(at + 2, x * PER_PIXEL);
    view.setUint16(at + 4, y * PER_PIXEL);
    view.setUint8(at + 6, sequence);
    view.setUint8(at + 7, keys);
    at += PLAYER_BYTES;
  }
  return new Uint8Array(view.buffer);
}

/** @param {DataView} view */
export function tickOf(view) {
  return view.getUint32(1);
}

/** @param {DataView} view @returns {Player[]} */
export function playersOf(view) {
  const players = [];
  for (let at = SNAPSHOT_HEAD; at < view.byteLength; at += PLAYER_BYTES) {
    players.push({
      id: view.getUint16(at),
      x: view.getUint16(at + 2) / PER_PIXEL,
      y: view.getUint16(at + 4) / PER_PIXEL,
      sequence: view.getUint8(at + 6),
      keys: view.getUint8(at + 7),
    });
  }
  return players;
}
