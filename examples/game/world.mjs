// @ts-check
/** The world: who is where, and how it moves. Knows no network and no clock. */
import { encodeSnapshot, KEYS } from './public/protocol.mjs';

export const WIDTH = 1600;
export const HEIGHT = 900;
/** Pixels per second. */
const SPEED = 240;

export class World {
  /** @type {Map<number, import('./public/protocol.mjs').Player>} by socket id */
  #players = new Map();
  /** Ids are small, so that a snapshot is. @type {number[]} */
  #free;
  #tick = 0;

  /** @param {number} places at most 65,536 */
  constructor(places) {
    this.#free = Array.from({ length: places }, (_, index) => places - 1 - index);
  }

  get size() {
    return this.#players.size;
  }

  /**
   * @param {number} socketId
   * @returns {number | undefined} the player's id; undefined: no place is left
   */
  enter(socketId) {
    const id = this.#free.pop();
    if (id === undefined) return undefined;
    const [x, y] = [Math.random() * WIDTH, Math.random() * HEIGHT];
    this.#players.set(socketId, { id, x, y, sequence: 0, keys: 0 });
    return id;
  }

  /** @param {number} socketId */
  leave(socketId) {
    const player = this.#players.get(socketId);
    if (player === undefined) return;
    this.#players.delete(socketId);
    this.#free.push(player.id);
  }

  /**
   * Sets a player's input from the next tick on.
   * @param {number} socketId
   * @param {{ sequence: number, keys: number }} input
   */
  steer(socketId, input) {
    Object.assign(this.#players.get(socketId) ?? {}, input);
  }

  /** @param {number} seconds what one tick stands for */
  step(seconds) {
    this.#tick += 1;
    const way = SPEED * seconds;
    for (const player of this.#players.values()) {
      player.x = within(player.x + way * sign(player.keys, KEYS.right, KEYS.left), WIDTH);
      player.y = within(player.y + way * sign(player.keys, KEYS.down, KEYS.up), HEIGHT);
    }
  }

  snapshot() {
    return encodeSnapshot(this.#tick, this.#players.values(), this.#players.size);
  }
}

/** @param {number} keys @param {number} forward @param {number} back */
function sign(keys, forward, back) {
  return Number((keys & forward) !== 0) - Number((keys & back) !== 0);
}

/** @param {number} value @param {number} end */
function within(value, end) {
  return Math.min(Math.max(value, 0), end);
}
