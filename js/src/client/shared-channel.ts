/** A channel that is subscribed on the server once, for all subscriptions of the application: its position, and what is told. */

import type { CallError } from './call-error.js';
import { ChannelSubscription, KEPT, type Told } from './channel-subscription.js';
import type { HistoryOptions, Member, Position, SubscribeOptions } from './client-interface.js';
import type { Answer } from './client-requests.js';
import { type Header, messageOf, type Payload } from './v1-message.js';

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
export type ReadHistory = (range: Pick<HistoryOptions, 'since' | 'limit'>) => Promise<Answer>;

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
  /** Which subscription recovers what was missed since the connection was lost: the client's own, if both were there. */
  reader: SharedChannel | undefined;
  /** Whether it was subscribed before. */
  #before = false;

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
    const asked = this.position || this.#before;
    const now = positionOf(header);
    this.ready = true;
    if (header.recovered) this.tell('onRecovered', now as Position);
    else {
      // so many of the last are kept, and follow
      this.position = now && { epoch: now.epoch, offset: now.offset - (header.last ?? 0) };
      if (asked) this.tell('onGap', now);
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
      if (o > offset + 1) this.tell('onGap', { epoch, offset: o - 1 });
      this.position = { epoch, offset: o };
    }
    if (!x) this.tell('onMessage', messageOf(header, payload));
  }

  gap(header: Header): void {
    this.position = positionOf({ e: this.position?.epoch, ...header } as Header);
    this.tell('onGap', this.position);
  }

  /** Members have changed, or something has happened that this client does not know. */
  presence(what: string, { n = 0, m }: Header): void {
    const name = MEMBERS[what as keyof typeof MEMBERS];
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
    const { since, last = 0 } = subscription.late ?? {};
    const { position } = this;
    const { epoch = '', offset = 0 } = since ?? position ?? {};
    let at = since ? offset : Math.max(offset - last, 0);
    const past: Told[] = [];
    let whole = since;
    const skip = (to: number) => {
      // of the last, as many are told as are kept
      if (to !== at && (since || past.length)) {
        whole = undefined;
        past.push(['onGap', { epoch, offset: to }]);
      }
    };
    try {
      if (epoch !== position?.epoch) return subscription.caughtUp(undefined, since ? [['onGap', position]] : []);
      // it gives up when it holds back too much
      while (subscription.late) {
        const { header, found } = await read({ since: { epoch, offset: at }, limit: KEPT });
        const now = positionOf(header) as Position;
        if (now.epoch !== epoch) return subscription.caughtUp(now, [['onGap', now]]);
        for (const message of found) {
          const to = message.offset as number;
          skip(to - 1);
          at = to;
          past.push(['onMessage', message]);
        }
        if (found.length && at < now.offset) continue; // the server gives pages
        skip(now.offset);
        if (whole) past.unshift(['onRecovered', now]);
        return subscription.caughtUp(now, since ? past : past.slice(-last));
      }
    } catch (error) {
      if ((error as CallError).code !== 'closed') subscription.caughtUp(since, [['onGap', position]]);
    }
  }
}
