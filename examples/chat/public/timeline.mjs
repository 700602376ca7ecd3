// @ts-check
/**
 * The list of messages and notices of one room, on the page. Everything that users wrote becomes a text node, never
 * markup.
 *
 * @typedef {{ kind: 'message', epoch: string, offset: number | undefined, name: string, body: string,
 *   timestamp: number, own: boolean }} Said
 * @typedef {{ kind: 'notice', text: string, timestamp: number }} Notice
 * @typedef {Said | Notice} Item
 */

/** One room's items since the page was loaded: in order, without duplicates, bounded. */
export class Log {
  /** @type {Item[]} */
  items = [];

  /**
   * A message stands in front of those with a larger offset, and everything else at the end.
   * @param {Item} item
   * @returns {'last' | 'between' | 'known'} where it went; 'known': it was there already
   */
  add(item) {
    const at = item.kind === 'message' ? this.#placeOf(item) : this.items.length;
    if (at === undefined) return 'known';
    const place = at === this.items.length ? 'last' : 'between';
    this.items.splice(at, 0, item);
    if (this.items.length <= LONGEST_LOG) return place;
    this.items.shift();
    return 'between';
  }

  /**
   * A message turns out to be the user's.
   * @param {string} epoch
   * @param {number} offset
   * @returns {boolean} whether that is news
   */
  own(epoch, offset) {
    for (const item of this.items) {
      if (item.kind !== 'message' || item.epoch !== epoch || item.offset !== offset) continue;
      if (item.own) return false;
      item.own = true;
      return true;
    }
    return false;
  }

  /** @param {Said} message @returns {number | undefined} undefined: it is there */
  #placeOf({ epoch, offset }) {
    let place = this.items.length;
    if (offset === undefined) return place;
    for (let at = place - 1; at >= 0; at -= 1) {
      const item = this.items[at];
      if (item?.kind !== 'message') continue;
      if (item.epoch !== epoch || item.offset === undefined || item.offset < offset) break;
      if (item.offset === offset) return undefined;
      place = at;
    }
    return place;
  }
}

/** Shows one log at a time, and stays at its end unless the reader has scrolled up. */
export class Timeline {
  #scroll;
  #list;
  #unsent;
  #empty;
  #newer;
  #unseen = 0;
  /** @type {Item | undefined} */
  #last;

  /**
   * @param {{ scroll: HTMLElement, list: HTMLElement, unsent: HTMLElement, empty: HTMLElement,
   *   newer: HTMLElement }} parts
   */
  constructor({ scroll, list, unsent, empty, newer }) {
    this.#scroll = scroll;
    this.#list = list;
    this.#unsent = unsent;
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

  /**
   * @param {Log} log
   * @param {{ stay?: boolean }} [options] stay: a reader who has scrolled up stays there
   */
  show(log, { stay = false } = {}) {
    const { scrollTop } = this.#scroll;
    const stays = stay && !this.#atEnd();
    this.#last = undefined;
    this.#list.replaceChildren(...log.items.flatMap((item) => this.#entries(item)));
    this.#empty.hidden = log.items.some(({ kind }) => kind === 'message');
    if (stays) this.#scroll.scrollTop = scrollTop;
    else this.#toEnd();
  }

  /**
   * Shows what waits for the connection, below everything else.
   * @param {{ body: string, timestamp: number }[]} unsent
   */
  wait(unsent) {
    const follow = this.#atEnd();
    this.#unsent.replaceChildren(
      ...unsent.map(({ body, timestamp }) => {
        /** @type {Said} */
        const item = { kind: 'message', epoch: '', offset: undefined, name: '', body, timestamp, own: true };
        return messageEntry(item, undefined);
      }),
    );
    if (follow) this.#toEnd();
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
 * @param {string} name
 */
export function paintAvatar(element, name) {
  const words = name.split(/\s+/).slice(0, 2);
  element.textContent = words
    .map((word) => [...word][0] ?? '')
    .join('')
    .toUpperCase();
  element.style.setProperty('--hue', String(hueOf(name)));
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
    before.name === item.name &&
    before.own === item.own &&
    item.timestamp - before.timestamp < SAME_BREATH;
  const entry = make('li', `entry${item.own ? ' own' : ''}${goesOn ? ' on' : ''}`);
  entry.style.setProperty('--hue', String(hueOf(item.name)));
  const by = make('p', goesOn || item.own ? 'by hidden' : 'by');
  by.append(make('bdi', '', item.own ? 'You' : item.name));
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
    if (!goesOn) paintAvatar(avatar, item.name);
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

/** @param {string} name */
function hueOf(name) {
  let hash = 0;
  for (const letter of name.toLowerCase()) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  return ((hash >>> 8) % HUES) * (360 / HUES);
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const calendar = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long' });
const HUES = 12;
const LONGEST_LOG = 1000;
// Messages of one user within this many milliseconds are grouped under one name.
const SAME_BREATH = 3 * 60_000;
