// @ts-check
/**
 * Who is in the room: the list beside the messages, the number above them, and who is typing. The gateway tells who
 * comes and goes; here connections become people. One whose link is dead stays a member until the gateway notices it,
 * while the same tab has another connection already: it is one person.
 *
 * @typedef {{ name: string, tab?: string, typing?: boolean }} Info  what the server says of a member
 * @typedef {import('millrace/client').Member} Member
 */
import { make, paintAvatar } from './timeline.mjs';

export class Members {
  /** What each connection says of itself; undefined: no list yet. @type {Map<string, Info> | undefined} */
  #connections;
  /** How many there are, if there are too many for a list. @type {number | undefined} */
  #count;
  #parts;
  #tab;
  #moved;

  /**
   * @param {{ list: HTMLElement, count: HTMLElement, summary: HTMLElement, typing: HTMLElement }} parts
   * @param {string} tab this one
   * @param {(notice: string) => void} moved told who comes and goes
   */
  constructor(parts, tab, moved) {
    this.#parts = parts;
    this.#tab = tab;
    this.#moved = moved;
  }

  /** I am going to another room. */
  clear() {
    this.#connections = undefined;
    this.#count = undefined;
    this.#show();
  }

  /** @param {Member[]} members all of them */
  fill(members) {
    this.#count = undefined;
    this.#connections = new Map();
    this.#set(members);
    this.#show();
  }

  /** @param {Member[]} members that are new, or say something else */
  here(members) {
    this.#change(() => this.#set(members));
  }

  /** @param {Member[]} members */
  gone(members) {
    this.#change(() => {
      for (const { socketId } of members) this.#connections?.delete(socketId);
    });
  }

  /** @param {number} members so many that only their number is told */
  counted(members) {
    this.clear();
    this.#count = members;
    this.#show();
  }

  /** @param {Member[]} members */
  #set(members) {
    for (const { socketId, info } of members) this.#connections?.set(socketId, /** @type {Info} */ (info));
  }

  /** Without a list nothing needs to change: the list will have it. @param {() => void} act */
  #change(act) {
    if (this.#connections === undefined) return;
    const before = this.#people();
    act();
    const after = this.#people();
    for (const [key, { name }] of before) if (!after.has(key)) this.#moved(`${name} left`);
    for (const [key, { name }] of after) if (!before.has(key)) this.#moved(`${name} joined`);
    this.#show();
  }

  /** The others and me, by the tab and the name. @returns {Map<string, Info & { isMe: boolean }>} */
  #people() {
    const people = [...(this.#connections ?? [])].map(([socketId, info]) => {
      const { name, tab = socketId } = info;
      return /** @type {const} */ ([`${tab} ${name}`, { ...info, isMe: tab === this.#tab }]);
    });
    return new Map(people);
  }

  #show() {
    const people = [...this.#people().values()];
    const sorted = people.sort((a, b) => Number(b.isMe) - Number(a.isMe) || a.name.localeCompare(b.name));
    this.#parts.list.replaceChildren(...sorted.map(({ name, isMe }) => memberEntry(name, isMe)));
    const count = this.#count ?? people.length;
    this.#parts.count.textContent = this.#count === undefined && this.#connections === undefined ? '–' : String(count);
    this.#parts.summary.textContent = count === 0 ? '' : count === 1 ? 'Only you here' : `${count} people here`;
    this.#showTypists(people);
  }

  /** @param {(Info & { isMe: boolean })[]} people */
  #showTypists(people) {
    const [one, two, ...more] = people.filter(({ typing, isMe }) => typing && !isMe).map(({ name }) => name);
    let text = '';
    if (more.length > 0) text = 'Several people are typing…';
    else if (two !== undefined) text = `${one} and ${two} are typing…`;
    else if (one !== undefined) text = `${one} is typing…`;
    this.#parts.typing.textContent = text;
  }
}

/** @param {string} name @param {boolean} isMe */
function memberEntry(name, isMe) {
  const entry = make('li');
  const avatar = make('span', 'avatar');
  avatar.ariaHidden = 'true';
  paintAvatar(avatar, name);
  const text = make('bdi', '', name);
  text.title = name;
  entry.append(avatar, text);
  if (isMe) entry.append(make('span', 'you', 'you'));
  return entry;
}
