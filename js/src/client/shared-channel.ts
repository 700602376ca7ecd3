/** A channel that is subscribed on the server once, for all subscriptions of the application: its position, and what is told. */

import type { CallError } from './call-error.js';
import { ChannelSubscription, type Told } from './channel-subscription.js';
import type { HistoryOptions, Member, Position, SubscribeOptions } from './client-interface.js';
import type { Answer } from './client-requests.js';
import { type Header, messageOf, type Payload } from './v1-message.js';

/** The most that a channel keeps. */
const KEPT = 10_000;

/** What tells of members, and the callback for it. */
const MEMBERS = { join: 'onJoin', leave: 'onLeave', update: 'onUpdate' } as const;

/** Members as they are told. */
export const membersOf = (list: unknown): Member[] =>
  (list as { s: string }[]).map(({ s: socketId, ...rest }) => ({ socketId, info: undefined, ...rest }));

/** A position as it is told. */
export const positionOf = ({ e, o = 0 }: Header): Position | undefined =>
  e === undefined ? e : { epoch: e, offset: o };

/** A position as it is sent. */
export const sinceOf = (position?: Position) => position && { e: position.epoch, o: position.offset };

/**
 * A copy of values that JSON has.
 *
 * @throws {TypeError} for others
 */
export const copied = <Values extends object>(values: Values): Values => JSON.parse(JSON.stringify(values));

/** Reads the history of a channel. */
export type ReadHistory = (range: Pick<HistoryOptions, 'since' | 'limit' | 'reverse'>) => Promise<Answer>;

export class SharedChannel {
  readonly name: string;
  readonly subscriptions = new Set<ChannelSubscription>();
  /** What the other members see. */
  info: unknown;
  /** The last publication that has arrived, or that need not arrive. */
  position: Position | undefined;
  /** Whether it is subscribed on this connection. */
  ready = false;
  #last: number | undefined;
  /** Whether it was subscribed on an earlier connection. */
  #before = false;
  /** Until the first message: it may have any offset up to the next one, as nobody knows how many of the last are kept. */
  #newest = 0;

  constructor(name: string) {
    this.name = name;
  }

  add(options: SubscribeOptions<never>): ChannelSubscription {
    const late = this.subscriptions.size > 0;
    const subscription = new ChannelSubscription(options, late);
    this.subscriptions.add(subscription);
    if (!late) {
      // copies, which can be sent again whatever becomes of the application's objects
      ({ info: this.info, last: this.#last, since: this.position } = copied(options));
    }
    return subscription;
  }

  /** What asks the server for it. */
  get header() {
    const since = sinceOf(this.position);
    return { t: 'sub', c: this.name, since, last: since ? undefined : this.#last, info: this.info };
  }

  /** It is subscribed. */
  opened(header: Header): void {
    const asked = this.position;
    const now = positionOf(header);
    this.ready = true;
    this.position = now;
    this.#newest = 0;
    if (now && asked && header.recovered) {
      this.position = { epoch: now.epoch, offset: asked.offset };
      this.tell('onRecovered', now);
    } else if (asked || this.#before) {
      this.tell('onGap', now);
    } else if (now) {
      this.#newest = now.offset;
      this.position = { epoch: now.epoch, offset: Math.max(now.offset - (this.#last ?? 0), 0) };
    }
    this.#before = true;
    this.tell('onSubscribed');
  }

  published(header: Header, payload: Payload): void {
    const { o, x } = header;
    const { position } = this;
    if (o !== undefined && position) {
      const { epoch, offset } = position;
      if (o <= offset) return;
      if (o > Math.max(offset, this.#newest) + 1) this.tell('onGap', { epoch, offset: o - 1 });
      this.position = { epoch, offset: o };
      this.#newest = 0;
    }
    if (!x) this.tell('onMessage', messageOf(header, payload));
  }

  gap(header: Header): void {
    if (!this.ready) return;
    this.position = positionOf({ e: this.position?.epoch, ...header } as Header);
    this.tell('onGap', this.position);
  }

  /** Members have changed, or something has happened that this client does not know. */
  presence(what: string, { n = 0, m }: Header): void {
    const name = MEMBERS[what as keyof typeof MEMBERS];
    if (!this.ready) return;
    if (name) this.tell(name, membersOf(m));
    else if (what === 'count') this.tell('onCount', n);
  }

  tell(...told: Told): void {
    for (const subscription of this.subscriptions) subscription.tell(...told);
  }

  end(error?: CallError): void {
    for (const subscription of this.subscriptions) subscription.end(error);
  }

  /**
   * Gives a subscription that came late what it asks for: the server has one subscription, so it reads the history.
   * Called again after a reconnect if it did not come that far.
   */
  async catchUp(subscription: ChannelSubscription, read: ReadHistory): Promise<void> {
    const { since, last } = subscription.late ?? {};
    const { position } = this;
    try {
      if (since?.epoch === position?.epoch && position && since) await this.#replay(subscription, since, read);
      else if (position && last) await this.#newestOnes(subscription, last, read);
      else subscription.caughtUp(undefined, since ? [['onGap', position]] : []);
    } catch (error) {
      if ((error as CallError).code !== 'closed') subscription.caughtUp(since, [['onGap', position]]);
    }
  }

  async #newestOnes(subscription: ChannelSubscription, limit: number, read: ReadHistory): Promise<void> {
    const { header, found } = await read({ limit, reverse: true });
    const past = found.reverse().map((message): Told => ['onMessage', message]);
    subscription.caughtUp(positionOf(header), past);
  }

  async #replay(subscription: ChannelSubscription, { epoch, offset }: Position, read: ReadHistory): Promise<void> {
    const past: Told[] = [];
    let at = offset;
    let whole = true;
    const skip = (to: number) => {
      if (to === at) return;
      whole = false;
      past.push(['onGap', { epoch, offset: to }]);
    };
    // it gives up when it holds back too much
    while (subscription.late) {
      const { header, found } = await read({ since: { epoch, offset: at }, limit: KEPT });
      const { e, o: newest = 0 } = header;
      if (e !== epoch) return subscription.caughtUp(positionOf(header), [['onGap', positionOf(header)]]);
      for (const message of found) {
        skip((message.offset ?? 0) - 1);
        at = message.offset ?? 0;
        past.push(['onMessage', message]);
      }
      if (found.length > 0 && at < newest) continue; // the server gives pages
      skip(newest);
      if (whole) past.unshift(['onRecovered', { epoch, offset: newest }]);
      return subscription.caughtUp({ epoch, offset: newest }, past);
    }
  }
}
