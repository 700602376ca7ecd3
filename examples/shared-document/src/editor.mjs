// @ts-check
/** A text area and a text of Yjs that stay the same. */

/** Takes the place of what is no text, such as a picture that another program has inserted. */
const OBJECT = '\ufffc';

export class Editor {
  #area;
  #text;
  /** What the area had after the last change of either side. */
  #shown = '';

  /**
   * @param {HTMLTextAreaElement} area
   * @param {import('yjs').Text} text
   */
  constructor(area, text) {
    this.#area = area;
    this.#text = text;
    area.addEventListener('input', () => this.#typed());
    text.observe(({ delta, transaction }) => {
      if (transaction.origin !== this) this.#show(/** @type {Change[]} */ (delta));
    });
  }

  /** The user has changed the area: changes the text at the same place. */
  #typed() {
    const { value, selectionEnd } = this.#area;
    const { at, removed, inserted } = difference(this.#shown, value, selectionEnd);
    this.#shown = value;
    this.#text.doc?.transact(() => {
      if (removed > 0) this.#text.delete(at, removed);
      if (inserted !== '') this.#text.insert(at, inserted);
    }, this);
  }

  /** The text has changed: the user's selection stays at the same letters. @param {Change[]} changes */
  #show(changes) {
    const area = this.#area;
    const { selectionStart, selectionEnd, selectionDirection, scrollTop } = area;
    const value = contentOf(this.#text);
    // An area has no carriage returns, and positions must be the same on both sides.
    const returns = [...value.matchAll(/\r/g)].map(({ index }) => index).reverse();
    if (returns.length > 0) {
      this.#text.doc?.transact(() => {
        for (const index of returns) this.#text.delete(index, 1);
      }, this);
    }
    area.value = value.replaceAll('\r', '');
    this.#shown = area.value;
    area.setSelectionRange(moved(selectionStart, changes), moved(selectionEnd, changes), selectionDirection);
    area.scrollTop = scrollTop;
  }
}

/** @typedef {{ retain?: number, insert?: string | object, delete?: number }} Change */

/** @param {import('yjs').Text} text */
export function contentOf(text) {
  const parts = /** @type {Change[]} */ (text.toDelta());
  return parts.map(({ insert }) => (typeof insert === 'string' ? insert : OBJECT)).join('');
}

/**
 * What was changed, if the cursor stands behind it.
 * @param {string} before
 * @param {string} after
 * @param {number} cursor
 * @returns {{ at: number, removed: number, inserted: string }}
 */
export function difference(before, after, cursor) {
  const shorter = Math.min(before.length, after.length);
  let tail = 0;
  while (tail < Math.min(shorter, after.length - cursor) && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  let at = 0;
  while (at < shorter - tail && before[at] === after[at]) at += 1;
  // Never between the halves of a pair of surrogates.
  if (/[\ud800-\udbff]/.test(before[at - 1] ?? '')) at -= 1;
  if (/[\udc00-\udfff]/.test(before[before.length - tail] ?? '')) tail -= 1;
  return { at, removed: before.length - tail - at, inserted: after.slice(at, after.length - tail) };
}

/**
 * Where a position is after changes by others.
 * @param {number} position
 * @param {Change[]} changes
 */
export function moved(position, changes) {
  let [at, now] = [0, position];
  for (const { retain = 0, insert, delete: removed = 0 } of changes) {
    at += retain;
    if (insert !== undefined) {
      const { length } = typeof insert === 'string' ? insert : OBJECT;
      if (at < now) now += length;
      at += length;
    }
    if (at < now) now -= Math.min(removed, now - at);
  }
  return now;
}
