// @ts-check
/**
 * Who has the document open, and where their cursors are. Each page says it of itself as a member of the channel; others
 * may say anything, so all of it is checked, and shown as text.
 *
 * A cursor is a relative position of Yjs: it stays at its letter when text in front of it changes.
 */
import * as Y from 'yjs';
import { contentOf } from './editor.mjs';

const NAME_LENGTH = 24;
/** A cursor is told at most so often. */
const TELL_MS = 100;

/** @typedef {{ socketId: string, tab: string, name: string, cursor: unknown }} Person */

export class People {
  /** @type {Map<string, Person>} */
  #people = new Map();
  #parts;
  #text;
  #me;
  /** @type {import('millrace/client').Subscription | undefined} */
  #subscription;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /**
   * @param {{ list: HTMLElement, cursors: HTMLElement, area: HTMLTextAreaElement, name: HTMLInputElement }} parts
   * @param {import('yjs').Text} text
   */
  constructor(parts, text) {
    this.#parts = parts;
    this.#text = text;
    // The same after a lost connection, while the server may still have the old one.
    this.#me = Math.random().toString(36).slice(2);
    text.observe(() => this.#show());
    parts.area.addEventListener('scroll', () => this.#scroll());
    document.addEventListener('selectionchange', () => this.#tellSoon());
    for (const event of ['focus', 'blur']) parts.area.addEventListener(event, () => this.#tellSoon());
    parts.name.addEventListener('input', () => this.#tellSoon());
  }

  /** What a subscription needs for its members. */
  get callbacks() {
    const set = (/** @type {import('millrace/client').Member[]} */ members) => this.#set(members);
    return {
      info: this.#info(),
      onJoin: set,
      onUpdate: set,
      onLeave: (/** @type {import('millrace/client').Member[]} */ members) => {
        for (const { socketId } of members) this.#people.delete(socketId);
        this.#show();
      },
      onSubscribed: () => void this.#list(),
    };
  }

  /** @param {import('millrace/client').Subscription} subscription */
  begin(subscription) {
    this.#subscription = subscription;
  }

  /** All members, the first time and after each lost connection. */
  async #list() {
    this.#tell();
    try {
      const members = (await this.#subscription?.presence()) ?? [];
      this.#people.clear();
      this.#set(members);
    } catch {
      // The connection is lost again.
    }
  }

  /** @param {import('millrace/client').Member[]} members */
  #set(members) {
    for (const { socketId, info } of members) this.#people.set(socketId, personOf(socketId, info));
    this.#show();
  }

  #info() {
    const { area, name } = this.#parts;
    const cursor = Y.relativePositionToJSON(Y.createRelativePositionFromTypeIndex(this.#text, area.selectionEnd));
    return { tab: this.#me, name: name.value, cursor: document.activeElement === area ? cursor : undefined };
  }

  #tellSoon() {
    this.#timer ??= setTimeout(() => this.#tell(), TELL_MS);
  }

  #tell() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // Without a connection nobody needs it; the next subscription tells it.
    this.#subscription?.setInfo(this.#info(), { queue: false }).catch(() => {});
    this.#show();
  }

  #show() {
    const { list, name } = this.#parts;
    // One whose connection was lost may have two for a while: the newer one counts.
    const others = new Map([...this.#people.values()].map((person) => [person.tab, person]));
    others.delete(this.#me);
    const entries = [...others.values()].map((person) => marked('li', person.name, person.tab));
    list.replaceChildren(marked('li', `${name.value || 'Guest'} (you)`, this.#me), ...entries);
    this.#showCursors([...others.values()]);
  }

  /** Lays the text over the text area again, without colour, with a mark at each cursor. @param {Person[]} others */
  #showCursors(others) {
    const value = contentOf(this.#text);
    const places = others.flatMap((person) => {
      const index = indexOf(person.cursor, this.#text);
      return index === undefined ? [] : [{ index, person }];
    });
    places.sort((one, other) => one.index - other.index);
    /** @type {(string | HTMLElement)[]} */
    const parts = [];
    let at = 0;
    for (const { index, person } of places) {
      const cursor = marked('span', '', person.tab);
      cursor.className = 'cursor';
      cursor.dataset.name = person.name;
      parts.push(value.slice(at, index), cursor);
      at = index;
    }
    // A line feed at the end makes a line of its own only if something follows.
    this.#parts.cursors.replaceChildren(...parts, `${value.slice(at)}\u200b`);
    this.#scroll();
  }

  #scroll() {
    this.#parts.cursors.scrollTop = this.#parts.area.scrollTop;
  }
}

/**
 * @param {string} socketId
 * @param {any} info what the member says of itself
 * @returns {Person}
 */
function personOf(socketId, info) {
  const name = typeof info?.name === 'string' ? info.name.trim().slice(0, NAME_LENGTH) : '';
  const tab = typeof info?.tab === 'string' ? info.tab : socketId;
  return { socketId, tab, name: name || 'Guest', cursor: info?.cursor };
}

/**
 * @param {any} cursor
 * @param {import('yjs').Text} text
 * @returns {number | undefined} undefined: there is none, or not in this text
 */
function indexOf(cursor, text) {
  if (typeof cursor !== 'object' || cursor === null || text.doc === null) return undefined;
  try {
    const relative = Y.createRelativePositionFromJSON(cursor);
    const place = Y.createAbsolutePositionFromRelativePosition(relative, text.doc);
    return place?.type === text ? place.index : undefined;
  } catch {
    return undefined;
  }
}

/**
 * An element with a text, in the colour of a tab.
 * @param {string} kind
 * @param {string} text
 * @param {string} tab
 */
function marked(kind, text, tab) {
  const element = document.createElement(kind);
  element.textContent = text;
  let hash = 0;
  for (const letter of tab) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  element.style.setProperty('--hue', String(((hash >>> 8) % 12) * 30));
  return element;
}
