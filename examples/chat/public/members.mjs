// @ts-check
/**
 * Who is in the room: the list beside the messages, the number above them, and who is typing.
 *
 * The server sends the whole list once, with a version, and then each join and leave with its own version. They come
 * from several worker threads, so a change may arrive before the list that it follows, or after a list that already
 * contains it: the version tells which.
 *
 * @typedef {{ type: 'user-joined' | 'user-left', id: number, alias: string, version: number, timestamp: number }} Movement
 */
import { make, paintAvatar } from './timeline.mjs';

export class Members {
  /** @type {Map<number, string>} socket id to name */
  #members = new Map();
  /** What the list already contains; undefined: no list yet. @type {number | undefined} */
  #version;
  /** @type {Movement[]} */
  #early = [];
  /** @type {Map<number, { alias: string, until: number }>} */
  #typists = new Map();
  /** @type {number | undefined} */
  #me;
  #parts;
  #moved;

  /**
   * @param {{ list: HTMLElement, count: HTMLElement, summary: HTMLElement, typing: HTMLElement }} parts
   * @param {(movement: Movement) => void} moved told of each coming and going that is news
   */
  constructor(parts, moved) {
    this.#parts = parts;
    this.#moved = moved;
  }

  /** I am joining a room whose list has not arrived yet. The old list stays visible. */
  expect() {
    this.#version = undefined;
    this.#early = [];
    this.#typists.clear();
    this.#showTypists();
  }

  clear() {
    this.#members.clear();
    this.expect();
    this.#show();
  }

  /** @param {{ id: number, members: { id: number, alias: string }[], version: number }} joined */
  fill({ id, members, version }) {
    this.#me = id;
    this.#version = version;
    this.#members = new Map(members.map((member) => [member.id, member.alias]));
    for (const movement of this.#early.splice(0)) this.move(movement);
    this.#show();
  }

  /** @param {Movement} movement */
  move(movement) {
    if (this.#version === undefined) {
      this.#early.push(movement);
      return;
    }
    if (movement.version <= this.#version) return;
    if (movement.type === 'user-joined') this.#members.set(movement.id, movement.alias);
    else this.#members.delete(movement.id);
    this.stopsTyping(movement.id);
    this.#show();
    this.#moved(movement);
  }

  /** @param {number} id @param {string} alias */
  types(id, alias) {
    this.#typists.set(id, { alias, until: Date.now() + TYPING_SHOWN });
    this.#showTypists();
    setTimeout(() => this.#showTypists(), TYPING_SHOWN + 50);
  }

  /** @param {number} id */
  stopsTyping(id) {
    if (this.#typists.delete(id)) this.#showTypists();
  }

  #show() {
    const me = this.#me;
    const sorted = [...this.#members].sort(
      ([a, one], [b, two]) => Number(b === me) - Number(a === me) || one.localeCompare(two),
    );
    this.#parts.list.replaceChildren(...sorted.map(([id, alias]) => memberEntry(alias, id === me)));
    const { size } = this.#members;
    this.#parts.count.textContent = String(size);
    this.#parts.summary.textContent = size === 0 ? '' : size === 1 ? 'Only you here' : `${size} people here`;
  }

  #showTypists() {
    for (const [id, { until }] of this.#typists) if (until <= Date.now()) this.#typists.delete(id);
    const [one, two, ...more] = [...this.#typists.values()].map(({ alias }) => alias);
    let text = '';
    if (more.length > 0) text = 'Several people are typing…';
    else if (two !== undefined) text = `${one} and ${two} are typing…`;
    else if (one !== undefined) text = `${one} is typing…`;
    this.#parts.typing.textContent = text;
  }
}

/** @param {string} alias @param {boolean} isMe */
function memberEntry(alias, isMe) {
  const entry = make('li');
  const avatar = make('span', 'avatar');
  avatar.ariaHidden = 'true';
  paintAvatar(avatar, alias);
  const name = make('bdi', '', alias);
  name.title = alias;
  entry.append(avatar, name);
  if (isMe) entry.append(make('span', 'you', 'you'));
  return entry;
}

// Milliseconds.
const TYPING_SHOWN = 4000;
