// @ts-check
/**
 * The list of messages and notices of one room, on the page. Everything that users wrote becomes a text node, never
 * markup.
 *
 * @typedef {{ kind: 'message', order: number, id: number, from: number, alias: string, body: string,
 *   timestamp: number, own: boolean }} Said
 * @typedef {{ kind: 'notice', order: number, text: string, timestamp: number }} Notice
 * @typedef {Said | Notice} Item
 */

/** One room's items since the page was loaded: sorted, without duplicates, bounded. */
export class Log {
  /** @type {Item[]} */
  items = [];
  /** @type {Set<number>} */
  #ids = new Set();

  /**
   * @param {Item} item
   * @returns {'last' | 'between' | 'known'} where it went; 'known': it was there already
   */
  add(item) {
    if (item.kind === 'message') {
      if (this.#ids.has(item.id)) return 'known';
      this.#ids.add(item.id);
    }
    let at = this.items.length;
    while (at > 0 && (this.items[at - 1]?.order ?? 0) > item.order) at -= 1;
    const place = at === this.items.length ? 'last' : 'between';
    this.items.splice(at, 0, item);
    if (this.items.length > LONGEST_LOG) {
      const gone = this.items.shift();
      if (gone?.kind === 'message') this.#ids.delete(gone.id);
      return 'between';
    }
    return place;
  }
}

/** Shows one log at a time, and stays at its end unless the reader has scrolled up. */
export class Timeline {
  #scroll;
  #list;
  #empty;
  #newer;
  #unseen = 0;
  /** @type {Item | undefined} */
  #last;

  /** @param {{ scroll: HTMLElement, list: HTMLElement, empty: HTMLElement, newer: HTMLElement }} parts */
  constructor({ scroll, list, empty, newer }) {
    this.#scroll = scroll;
    this.#list = list;
    this.#empty = empty;
    this.#newer = newer;
    newer.addEventListener('click', () => this.#toEnd());
    let stuck = true;
    scroll.addEventListener('scroll', () => {
      stuck = this.#atEnd();
      if (stuck) this.#seen();
    });
    // A phone's keyboard, or a growing message field, takes space away at the bottom.
    new ResizeObserver(() => {
      if (stuck) this.#toEnd();
    }).observe(scroll);
  }

  /** @param {Log} log */
  show(log) {
    this.#last = undefined;
    this.#list.replaceChildren(...log.items.flatMap((item) => this.#entries(item)));
    this.#empty.hidden = log.items.some(({ kind }) => kind === 'message');
    this.#toEnd();
  }

  /** @param {Item} item the newest of the log that is shown */
  append(item) {
    const follow = this.#atEnd() || (item.kind === 'message' && item.own);
    this.#list.append(...this.#entries(item));
    if (item.kind === 'message') this.#empty.hidden = true;
    if (follow) this.#toEnd();
    else if (item.kind === 'message') {
      this.#unseen += 1;
      this.#newer.textContent = `${this.#unseen} new ${this.#unseen === 1 ? 'message' : 'messages'} ↓`;
      this.#newer.hidden = false;
    }
  }

  /** @param {Item} item */
  #entries(item) {
    const before = this.#last;
    this.#last = item;
    const newDay = before === undefined || dayOf(before.timestamp) !== dayOf(item.timestamp);
    const entry = item.kind === 'message' ? messageEntry(item, newDay ? undefined : before) : noticeEntry(item);
    return newDay ? [dayEntry(item.timestamp), entry] : [entry];
  }

  #atEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroll;
    return scrollHeight - scrollTop - clientHeight < 48;
  }

  #toEnd() {
    this.#scroll.scrollTop = this.#scroll.scrollHeight;
    this.#seen();
  }

  #seen() {
    this.#unseen = 0;
    this.#newer.hidden = true;
  }
}

/**
 * A round sign with the first letters of a name, in a colour of its own.
 * @param {HTMLElement} element
 * @param {string} alias
 */
export function paintAvatar(element, alias) {
  const words = alias.split(/\s+/).slice(0, 2);
  element.textContent = words
    .map((word) => [...word][0] ?? '')
    .join('')
    .toUpperCase();
  element.style.setProperty('--hue', String(hueOf(alias)));
}

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {string} [className]
 * @param {string} [text]
 */
export function make(name, className = '', text = '') {
  const element = document.createElement(name);
  element.className = className;
  element.textContent = text;
  return element;
}

/**
 * @param {Said} item
 * @param {Item | undefined} before
 */
function messageEntry(item, before) {
  const goesOn =
    before?.kind === 'message' &&
    before.from === item.from &&
    before.alias === item.alias &&
    before.own === item.own &&
    item.timestamp - before.timestamp < SAME_BREATH;
  const entry = make('li', `entry${item.own ? ' own' : ''}${goesOn ? ' on' : ''}`);
  entry.style.setProperty('--hue', String(hueOf(item.alias)));
  const by = make('p', goesOn || item.own ? 'by hidden' : 'by');
  by.append(make('bdi', '', item.own ? 'You' : item.alias));
  const body = make('p', 'body', item.body);
  body.dir = 'auto';
  const time = make('time', 'time', clock.format(item.timestamp));
  time.dateTime = new Date(item.timestamp).toISOString();
  const bubble = make('div', 'bubble');
  bubble.append(by, body, time);
  if (item.own) {
    entry.append(bubble);
  } else {
    const avatar = make('span', goesOn ? 'avatar blank' : 'avatar');
    avatar.ariaHidden = 'true';
    if (!goesOn) paintAvatar(avatar, item.alias);
    entry.append(avatar, bubble);
  }
  return entry;
}

/** @param {Notice} item */
function noticeEntry(item) {
  const entry = make('li', 'notice');
  const text = make('span', '', item.text);
  const time = make('time', 'time', clock.format(item.timestamp));
  time.dateTime = new Date(item.timestamp).toISOString();
  text.append(' ', time);
  entry.append(text);
  return entry;
}

/** @param {number} timestamp */
function dayEntry(timestamp) {
  const entry = make('li', 'day');
  const today = dayOf(Date.now()) === dayOf(timestamp);
  entry.append(make('span', '', today ? 'Today' : calendar.format(timestamp)));
  return entry;
}

/** @param {number} timestamp */
function dayOf(timestamp) {
  return new Date(timestamp).toDateString();
}

/** @param {string} alias */
function hueOf(alias) {
  let hash = 0;
  for (const letter of alias.toLowerCase()) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  return ((hash >>> 8) % HUES) * (360 / HUES);
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const calendar = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long' });
const HUES = 12;
const LONGEST_LOG = 500;
// Messages of one user within this many milliseconds are grouped under one name.
const SAME_BREATH = 3 * 60_000;
