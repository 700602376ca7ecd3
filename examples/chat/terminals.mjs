// @ts-check
/**
 * Consoles and `nc`: clients that cannot subscribe by themselves, so the worker does it for them. They are members of a
 * room as pages are, and get the same publications, which are lines of text.
 */
import { CallError, close, presence, send, subscribe, unsubscribe } from 'millrace';
import { become, noticesOf } from './membership.mjs';
import { channelOf, lineOf } from './protocol.mjs';

/** How many messages of the past it gets. */
const PAST = 50;
/** How many names are listed. */
const LISTED = 20;

export class Terminal {
  /** @type {import('./membership.mjs').Membership} */
  membership;
  #socketId;
  /** @type {Promise<unknown>} */
  #turn = Promise.resolve();

  /**
   * @param {number} socketId
   * @param {import('./membership.mjs').Membership | undefined} membership its token
   */
  constructor(socketId, membership) {
    this.#socketId = socketId;
    this.membership = membership ?? {};
  }

  /**
   * Requests are done one after the other, also if some of them take longer.
   * @template Result
   * @param {() => Promise<Result>} act
   */
  inTurn(act) {
    const done = this.#turn.then(act);
    this.#turn = done.catch(() => {});
    return done;
  }

  /** @param {import('./protocol.mjs').Request | { type: 'quit' } | { type: 'nothing' }} request */
  async perform(request) {
    if (request.type === 'join') await this.#join(request);
    else if (request.type === 'message') this.#say(request.body);
    else if (request.type === 'quit') close(this.#socketId);
  }

  /** @param {{ name: string, room: string }} where */
  async #join({ name, room }) {
    const [id, before] = [this.#socketId, this.membership];
    if (before.room !== undefined) {
      for (const channel of [channelOf(before.room), noticesOf(before.room)]) unsubscribe(id, channel);
    }
    const now = { ...before, name, room };
    if (!become(id, before, now)) return;
    this.membership = now;
    subscribe(id, noticesOf(room));
    const channel = channelOf(room);
    const { members } = await presence(channel);
    const names = members.map(({ info }) => /** @type {any} */ (info).name);
    const more = names.length > LISTED ? ` and ${names.length - LISTED} others` : '';
    const company = names.length === 0 ? 'alone' : `with ${names.slice(0, LISTED).join(', ')}${more}`;
    // Messages of the past follow behind what is sent already.
    send(id, `* You are ${name} in ${room}, ${company}.`);
    await subscribe(id, channel, { last: PAST, member: { name } });
  }

  /** @param {string} body */
  #say(body) {
    const { name, room } = this.membership;
    if (name === undefined || room === undefined) throw new CallError('not-joined', 'Join a room first.');
    // A terminal already shows the typed line.
    send(channelOf(room), lineOf(name, body), { except: this.#socketId });
  }
}
