// @ts-check
/**
 * Names, and where they are stored: the room's name is in the address, so that users can link to a room; the user's
 * name is in the browser's storage.
 */

/** @returns {string} the room in the address */
export function roomInAddress() {
  try {
    return roomName(decodeURIComponent(location.hash)) || 'general';
  } catch {
    // A hash typed by hand need not be well formed.
    return 'general';
  }
}

/** @param {string} text what a person typed; the server does the same */
export function roomName(text) {
  return text.trim().replace(/^#+/, '').trim().normalize('NFC').toLowerCase().replace(/\s+/g, '-');
}

/** @param {string} room */
export function addressOf(room) {
  return `#${encodeURIComponent(room)}`;
}

/**
 * @param {'localStorage' | 'sessionStorage'} storage
 * @param {string} key
 */
export function recall(storage, key) {
  try {
    return window[storage].getItem(key) ?? '';
  } catch {
    return ''; // Storage can be switched off in a browser: then names last for the visit.
  }
}

/**
 * @param {'localStorage' | 'sessionStorage'} storage
 * @param {string} key
 * @param {string} value
 */
export function remember(storage, key, value) {
  try {
    window[storage].setItem(key, value);
  } catch {
    // As above.
  }
}
