/** One subscription of the application: its callbacks, its loops, and how it catches up with a channel that is subscribed already. */

import { CallError } from './call-error.js';
import type { Member, Message, Position, SubscribeOptions } from './client-interface.js';

/** What is told to subscriptions, by the name of the callback. */
export type Told =
  | ['onMessage', Message]
  | ['onJoin' | 'onLeave' | 'onUpdate', Member[]]
  | ['onCount', number]
  | ['onGap', Position | undefined]
  | ['onRecovered', Position]
  | ['onSubscribed']
  | ['onError', CallError];

/** The most that a channel keeps. So many messages wait for a loop, or for the history in front of them, at most, too. */
export const KEPT = 10_000;

interface Reader {
  take(message: Message): void;
  end(error?: CallError): void;
}

/** Calls a function of the application. What it throws is an uncaught error, as in a listener of an event. */
export function safely(call: () => unknown): void {
  try {
    call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

export class ChannelSubscription {
  readonly options: SubscribeOptions<never>;
  /** Where it begins, if the channel was subscribed before. It holds everything back until it has caught up. */
  late: Pick<SubscribeOptions, 'since' | 'last'> | undefined;
  #held: Told[] = [];
  /** How far it has come by the history. The channel itself may be behind that, and brings it again. */
  position: Position | undefined;
  readonly #readers = new Set<Reader>();
  over = false;

  constructor(options: SubscribeOptions<never>, late: boolean) {
    this.options = options;
    if (late && (options.since || options.last)) this.late = options;
  }

  tell(...told: Told): void {
    if (this.over) return;
    if (this.late) {
      this.#held.push(told);
      // the history comes more slowly than what is published
      if (this.#held.length > KEPT) this.caughtUp(this.late.since, [['onGap', undefined]]);
      return;
    }
    const [name, value] = told;
    if (name === 'onGap' && value?.epoch !== this.position?.epoch) this.position = undefined;
    // of another epoch there is no position; a comparison with undefined is false
    if (name !== 'onRecovered' && ((value as Message)?.offset as number) <= (this.position?.offset as number)) return;
    safely(() => (this.options[name] as ((value: unknown) => unknown) | undefined)?.(value));
    if (name === 'onMessage') for (const reader of this.#readers) reader.take(value);
  }

  /** It has what was published up to a position: tells what it has held back, and what is new from now on. Only once: a second answer is nothing new. */
  caughtUp(position: Position | undefined, past: Told[]): void {
    if (!this.late) return;
    const held = this.#held;
    this.#held = [];
    this.late = undefined;
    for (const told of past) this.tell(...told);
    this.position = position;
    for (const told of held) this.tell(...told);
  }

  end(error?: CallError): void {
    if (error) {
      this.late = undefined;
      this.tell('onError', error);
    }
    this.over = true;
    this.#held = [];
    for (const reader of this.#readers) reader.end(error);
  }

  /** What is published from this call on. */
  iterate(): AsyncGenerator<Message, void> {
    const waiting: Message[] = [];
    let wake = () => {};
    let [over, failure] = [this.over, undefined as CallError | undefined];
    const reader: Reader = {
      take: (message) => {
        if (waiting.length < KEPT) waiting.push(message);
        else reader.end(new CallError('limit', `${KEPT} messages wait for a loop`));
        wake();
      },
      end: (error) => {
        this.#readers.delete(reader);
        over = true;
        failure ??= error;
        wake();
      },
    };
    this.#readers.add(reader);
    const loop = (async function* () {
      try {
        for (;;) {
          while (waiting.length) yield waiting.shift() as Message;
          if (failure) throw failure;
          if (over) return;
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      } finally {
        reader.end();
      }
    })();
    // a generator that has not begun does not get to its `finally`
    const end = loop.return;
    loop.return = (value) => {
      reader.end();
      return end.call(loop, value);
    };
    return loop;
  }
}
