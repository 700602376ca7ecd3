// @ts-check
/**
 * A document of Yjs and its channel: what changes here is published, and what is published changes the document. The
 * client connects again and recovers what the channel keeps; if that is too little, the server has the whole state.
 */
import * as Y from 'yjs';

/** The longest update that the server takes. */
const UPDATE_BYTES = 256 * 1024;
/** The pause before the state is asked for again, if the server failed. */
const RETRY_MS = 2000;

export class Sync {
  /** Whether everything that the server has is in the document. */
  isWhole = false;
  /** What the server does not have yet, as one update. @type {Uint8Array | undefined} */
  unsent;
  subscription;
  #client;
  #name;
  #document;
  #changed;
  #isSending = false;
  #loads = 0;
  /** What has arrived while the document must not change. @type {Uint8Array[] | undefined} */
  #held;

  /**
   * @param {import('millrace/client').Client} client
   * @param {string} name
   * @param {Y.Doc} document
   * @param {import('millrace/client').SubscribeOptions<unknown>} presence what concerns members
   * @param {(problem?: string) => void} changed called after changes of `isWhole` and `unsent`
   */
  constructor(client, name, document, presence, changed) {
    this.#client = client;
    this.#name = name;
    this.#document = document;
    this.#changed = changed;
    document.on('update', (/** @type {Uint8Array} */ update, /** @type {unknown} */ origin) => {
      if (origin === this) return;
      this.#add(update);
      this.#send();
    });
    this.subscription = client.subscribe(this.#channel, {
      ...presence,
      onMessage: ({ data }) => this.#receive(data),
      // More was missed than the channel keeps, or the server was restarted.
      onGap: () => void this.#load(),
      onSubscribed: () => {
        if (!this.isWhole) this.#load();
        this.#send();
        presence.onSubscribed?.();
      },
    });
  }

  get #channel() {
    return `document:${this.#name}`;
  }

  /** Whether everything that was changed here has reached the server. */
  get isSaved() {
    return this.unsent === undefined && !this.#isSending;
  }

  /** While a word is composed with an input method, the text must not change. */
  hold() {
    this.#held ??= [];
  }

  release() {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const update of held) this.#apply(update);
  }

  /** @param {unknown} data what another page has published */
  #receive(data) {
    if (!(data instanceof Uint8Array)) return;
    if (this.#held) this.#held.push(data);
    else this.#apply(data);
  }

  /** @param {Uint8Array} update */
  #apply(update) {
    Y.applyUpdate(this.#document, update, this);
  }

  /**
   * Publishes one update at a time; what is changed meanwhile, or without a connection, becomes the next one. The client
   * sends again what may have been lost, and a document takes no update twice.
   */
  async #send() {
    if (this.#isSending || this.unsent === undefined) return;
    this.#isSending = true;
    /** @type {string | undefined} */
    let problem;
    while (this.unsent !== undefined && problem === undefined) {
      const update = this.unsent;
      this.unsent = undefined;
      try {
        if (update.length > UPDATE_BYTES) throw new Error('This is too much at once.');
        await this.#client.publish(this.#channel, update);
      } catch (error) {
        const { reason, message } = /** @type {import('millrace/client').CallError} */ (error);
        this.#add(update);
        problem = `Your last changes are only on this page. ${reason ?? message}`;
      }
    }
    this.#isSending = false;
    this.#changed(problem);
  }

  /** @param {Uint8Array} update */
  #add(update) {
    this.unsent = this.unsent === undefined ? update : Y.mergeUpdates([update, this.unsent]);
    this.#changed();
  }

  /** Gets the whole state, and gives back what a server that was restarted does not have. */
  async #load() {
    this.#loads += 1;
    const load = this.#loads;
    this.isWhole = false;
    this.#changed();
    try {
      const state = await this.#client.call('state', this.#name);
      if (load !== this.#loads || !(state instanceof Uint8Array)) return;
      this.#receive(state);
      const missing = missingFrom(state, this.#document);
      if (missing) this.#add(missing);
      this.isWhole = true;
      this.#changed();
      this.#send();
    } catch {
      // Without a connection, the next subscription asks again.
      if (this.#client.status === 'open') setTimeout(() => load === this.#loads && this.#load(), RETRY_MS);
    }
  }
}

/**
 * What a document has and a state does not have, deletions included. State vectors alone do not show these: they count
 * what was inserted.
 * @param {Uint8Array} state
 * @param {Y.Doc} document
 * @returns {Uint8Array | undefined} undefined: the state has everything
 */
function missingFrom(state, document) {
  const theirs = new Y.Doc();
  try {
    Y.applyUpdate(theirs, state);
    // It has all deletions of the document, new or not.
    const update = Y.encodeStateAsUpdate(document, Y.encodeStateVector(theirs));
    return Y.snapshotContainsUpdate(Y.snapshot(theirs), update) ? undefined : update;
  } finally {
    theirs.destroy();
  }
}
