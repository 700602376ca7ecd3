// @ts-check
/**
 * A room: its messages, and the subscription while the user is in it. `millrace/client` connects again after a loss and
 * brings what was missed; this file decides what is said about it, and what is done if the server keeps too little.
 *
 * @typedef {import('millrace/client').Client} Client
 * @typedef {import('millrace/client').Member} Member
 * @typedef {import('millrace/client').Position} Position
 * @typedef {{ code: string, reason?: string | undefined }} Refusal
 * @typedef {{ name: string, tab: string }} Info  what the page says of its user
 * @typedef {{ body: string, timestamp: number }} Unsent
 * @typedef {{
 *   added(item: import('./timeline.mjs').Item, place: 'last' | 'between'): void,
 *   changed(): void,
 *   waits(): void,
 *   stands(): void,
 *   refused(refusal: Refusal): void,
 *   unsent(refusal: Refusal, body: string): void,
 *   here(members: Member[]): void,
 *   gone(members: Member[]): void,
 *   counted(members: number): void,
 * }} Events
 */
import { Log } from './timeline.mjs';

/** How many messages of the past a newcomer gets. */
const PAST = 50;
/** How many are asked for at once after a gap. */
const PAGE = 500;
/** A message as the server publishes it. */
const SAID = /^<([^\t]*)>\t(.*)$/s;

export class Room {
  log = new Log();
  /** What the user has said and the server has not confirmed yet. @type {Unsent[]} */
  unsent = [];
  name;
  #client;
  #mine;
  #on;
  /** @type {import('millrace/client').Subscription<unknown> | undefined} */
  #subscription;
  /** The position up to which everything is here, or is said to be missing. @type {Position | undefined} */
  #seen;

  /**
   * @param {string} name
   * @param {Client} client
   * @param {{ has(key: string): boolean, add(key: string): void }} mine the messages of this user
   * @param {Events} on
   */
  constructor(name, client, mine, on) {
    this.name = name;
    this.#client = client;
    this.#mine = mine;
    this.#on = on;
  }

  get #channel() {
    return `room:${this.name}`;
  }

  /** @param {Info} info */
  enter(info) {
    let stood = false;
    const since = this.#seen;
    this.#subscription = this.#client.subscribe(this.#channel, {
      // Who was here before goes on where they left.
      ...(since === undefined ? { last: PAST } : { since }),
      info,
      onMessage: (message) => {
        this.#seen = this.#subscription?.position;
        const item = this.#itemOf(message, this.#seen?.epoch ?? '');
        if (item) this.#add(item);
      },
      onRecovered: () => {
        if (stood) this.note(COMPLETE);
      },
      onGap: (position) => void this.#fill(position),
      onSubscribed: () => {
        this.#seen = this.#subscription?.position;
        if (!stood) this.note(`You joined as ${info.name}`);
        stood = true;
        this.#on.stands();
      },
      onError: (refusal) => this.#on.refused(refusal),
      onJoin: (members) => this.#on.here(members),
      onUpdate: (members) => this.#on.here(members),
      onLeave: (members) => this.#on.gone(members),
      onCount: (members) => this.#on.counted(members),
    });
  }

  leave() {
    this.#subscription?.close();
    this.#subscription = undefined;
  }

  /** Who is here. */
  async members() {
    return (await this.#subscription?.presence()) ?? [];
  }

  /** Without a connection it waits, and is not said twice if the connection was lost in between. @param {string} body */
  async say(body) {
    const sent = { body, timestamp: Date.now() };
    this.unsent.push(sent);
    this.#on.waits();
    try {
      const { position } = await this.#client.publish(this.#channel, body);
      if (position !== undefined) this.#keep(position.epoch, position.offset);
    } catch (error) {
      this.#on.unsent(/** @type {any} */ (error), body);
    } finally {
      this.unsent = this.unsent.filter((other) => other !== sent);
      this.#on.waits();
    }
  }

  /**
   * @param {import('millrace/client').Message<unknown>} message
   * @param {string} epoch of its position
   * @returns {import('./timeline.mjs').Said | undefined} undefined: not from the chat's server
   */
  #itemOf({ data, offset, timestamp = Date.now(), from }, epoch) {
    const [, name, body] = (typeof data === 'string' && SAID.exec(data)) || [];
    if (name === undefined || body === undefined) return undefined;
    const isMine = from !== undefined && from === this.#client.socketId;
    if (isMine) this.#confirm(body, epoch, offset);
    const own = isMine || this.#mine.has(this.#key(epoch, offset));
    return { kind: 'message', epoch, offset, name, body, timestamp, own };
  }

  /**
   * Something may be missing up to this position: reads what the server still has, and says the rest.
   * @param {Position | undefined} position undefined: the channel keeps nothing
   */
  async #fill(position) {
    const [subscription, before] = [this.#subscription, this.#seen];
    this.#seen = position;
    const notice = this.note(UNKNOWN);
    if (subscription === undefined || position === undefined) return;
    const { epoch } = position;
    let at = before;
    /** @type {number | undefined} */
    let first;
    try {
      do {
        const { position: now, publications } = await subscription.history({ limit: PAGE, since: at });
        if (now.epoch !== epoch) return; // There is another gap already.
        const newest = publications.at(-1)?.offset;
        if (newest === undefined) break;
        first ??= publications[0]?.offset;
        at = { epoch, offset: newest };
        for (const message of publications) {
          const item = this.#itemOf(message, epoch);
          if (item) this.log.add(item);
        }
      } while (at.offset < position.offset);
    } catch {
      return; // The connection is lost again: the notice stays.
    } finally {
      this.#on.changed();
    }
    // What is behind the position arrives in any case.
    const next = Math.min(first ?? Number.POSITIVE_INFINITY, position.offset + 1);
    const missing = next - (before?.offset ?? 0) - 1;
    if (before?.epoch !== epoch) notice.text = ANEW;
    else if (missing > 0) notice.text = `${missing} ${missing === 1 ? 'message is' : 'messages are'} missing here.`;
    else notice.text = FOUND;
    this.#on.changed();
  }

  /**
   * A message of this user has arrived: the first one that waits with this text.
   * @param {string} body
   * @param {string} epoch
   * @param {number | undefined} offset
   */
  #confirm(body, epoch, offset) {
    const at = this.unsent.findIndex((sent) => sent.body === body);
    if (at >= 0) this.unsent.splice(at, 1);
    this.#on.waits();
    this.#keep(epoch, offset);
  }

  /** @param {string} epoch @param {number | undefined} offset */
  #keep(epoch, offset) {
    if (offset === undefined) return;
    this.#mine.add(this.#key(epoch, offset));
    if (this.log.own(epoch, offset)) this.#on.changed();
  }

  /** @param {string} epoch @param {number | undefined} offset */
  #key(epoch, offset) {
    return `${this.name} ${epoch} ${offset}`;
  }

  /** Says something that concerns the room. @param {string} text */
  note(text) {
    /** @type {import('./timeline.mjs').Notice} */
    const notice = { kind: 'notice', text, timestamp: Date.now() };
    this.#add(notice);
    return notice;
  }

  /** @param {import('./timeline.mjs').Item} item */
  #add(item) {
    const place = this.log.add(item);
    if (place !== 'known') this.#on.added(item, place);
  }
}

const COMPLETE = 'The connection was lost. You are back, and nothing is missing.';
const UNKNOWN = 'Messages may be missing here.';
const FOUND = 'Nothing is missing here.';
const ANEW = 'The server has lost its history, for example by a restart. Messages may be missing here.';
