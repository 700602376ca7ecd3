/** The client: what an application calls, and where each message of the server goes. */

import { CallError } from './call-error.js';
import { ChannelSubscription, safely } from './channel-subscription.js';
import { Connection } from './client-connection.js';
import type {
  Client,
  HistoryOptions,
  Member,
  Message,
  Position,
  Published,
  PublishOptions,
  RequestOptions,
  Status,
  StatusReason,
  SubscribeOptions,
  Subscription,
} from './client-interface.js';
import { type Answer, forgetOldest, Requests } from './client-requests.js';
import type { ClientOptions } from './client-settings.js';
import { copied, membersOf, positionOf, SharedChannel, sinceOf } from './shared-channel.js';
import { dataOf, encode, type Header, messageOf, type Payload, payloadOf } from './v1-message.js';

/** The wait for a connection is included. */
const TIMEOUT_MS = 10_000;
const PAGE = 1000;
/** The pause before a subscription is tried again that the server could not make. */
const RETRY_MS = 5000;

/**
 * Connects to a server of Millrace with the protocol `millrace.v1`, and connects again when the connection is lost.
 * Everything can be called at once; it waits for the connection.
 *
 * @example
 * ```ts
 * const client = createClient('wss://example.com/');
 * client.subscribe('room:1', { onMessage: ({ data }) => console.log(data) });
 * await client.publish('room:1', { text: 'hi' });
 * ```
 * @throws {TypeError} for a URL that is neither of WebSocket nor of HTTP, or without a class `WebSocket`
 */
export function createClient(url: string | URL, options: ClientOptions = {}): Client {
  return new MessagingClient(`${url}`, options);
}

class MessagingClient implements Client {
  socketId: string | undefined;
  readonly #channels = new Map<string, SharedChannel>();
  /** Those to which only the server's code has subscribed it; the one that this has happened to first goes. */
  readonly #served = new Map<string, SharedChannel>();
  readonly #handlers = new Map<unknown, (params: unknown) => unknown>();
  readonly #onStatus = new Set<(status: Status, reason: StatusReason | undefined) => void>();
  readonly #onMessage = new Set<(message: Message) => void>();
  readonly #onGap = new Set<(channel: string, position: Position | undefined) => void>();
  readonly #connection: Connection;
  readonly #requests: Requests;
  /** What the server said first on the connection that is open; undefined without one. */
  #session: Header | undefined;

  constructor(url: string, options: ClientOptions) {
    this.#connection = new Connection(url, options, {
      opened: (header) => this.#opened(header),
      message: (header, payload) => this.#receive(header, payload),
      lost: (refused) => this.#lost(refused),
      changed: (status, reason) => tellAll(this.#onStatus, status, reason),
    });
    this.#requests = new Requests(this.#connection);
  }

  get status(): Status {
    return this.#connection.status;
  }

  onStatus = (listener: (status: Status, reason: StatusReason | undefined) => void) => added(this.#onStatus, listener);

  onMessage = (listener: (message: Message) => void) => added(this.#onMessage, listener);

  onGap = (listener: (channel: string, position: Position | undefined) => void) => added(this.#onGap, listener);

  subscribe<Data>(name: string, options: SubscribeOptions<Data> = {}): Subscription<Data> {
    must(name, 'channel');
    if (this.status === 'closed') throw new CallError('closed');
    const channel = this.#channels.get(name) ?? new SharedChannel(name);
    const subscription = channel.add(options as SubscribeOptions<never>);
    if (!this.#channels.has(name)) {
      encode(channel.header); // throws
      this.#channels.set(name, channel);
      if (this.status === 'open') this.#open(channel);
    } else if (channel.ready) {
      this.#catchUp(channel, subscription);
    }
    return this.#interface(channel, subscription) as Subscription<Data>;
  }

  async publish(channel: string, data: unknown, options: PublishOptions = {}): Promise<Published> {
    must(channel, 'channel');
    const payload = payloadOf(data);
    if (payload === undefined) throw new TypeError('data must be bytes or a JSON value');
    const { idempotencyKey: key = randomKey() } = options;
    const { header } = await this.#requests.ask({ t: 'pub', c: channel, key }, payload, options, channel);
    return { position: positionOf(header) };
  }

  async call<Data>(method: string, params?: unknown, options?: RequestOptions): Promise<Data> {
    must(method, 'method');
    return (await this.#ask({ t: 'call', m: method }, options, payloadOf(params))).data as Data;
  }

  handle(method: string, handler: (params: unknown) => unknown): () => void {
    must(method, 'method');
    if (typeof handler !== 'function') throw new TypeError('handler must be a function');
    this.#handlers.set(method, handler);
    return () => {
      if (this.#handlers.get(method) === handler) this.#handlers.delete(method);
    };
  }

  close(): void {
    this.#connection.close();
  }

  #ask(header: object, options: RequestOptions = {}, payload?: Payload): Promise<Answer> {
    return this.#requests.ask(header, payload, { timeoutMs: TIMEOUT_MS, ...options });
  }

  #opened(header: Header): void {
    this.#session = header;
    this.socketId = header.s;
    for (const channel of this.#channels.values()) this.#open(channel);
    this.#requests.pump();
  }

  #lost(refused: StatusReason | undefined): void {
    this.#session = undefined;
    for (const channel of [...this.#served.values(), ...this.#channels.values()]) {
      const own = this.#channels.get(channel.name);
      if (channel.ready) channel.reader = own?.ready ? own : channel;
      channel.ready = false;
    }
    this.#requests.lost();
    if (this.status !== 'closed') return;
    for (const channel of this.#channels.values()) {
      this.#end(channel, refused && new CallError('closed', refused.reason || `${refused.code}`));
    }
  }

  /** Subscribes on this connection. A server that fails is asked again, one that refuses is not. */
  #open(channel: SharedChannel): void {
    this.#requests.askNow(channel.header, (outcome) => {
      if (this.#channels.get(channel.name) !== channel) return;
      if (!(outcome instanceof CallError)) {
        this.#requests.keeps(channel.name, outcome.header.e !== undefined);
        channel.opened(outcome.header);
        for (const subscription of channel.subscriptions) this.#catchUp(channel, subscription);
      } else if (/^(failed|timeout)$/.test(outcome.code)) {
        const session = this.#session;
        setTimeout(() => {
          if (session === this.#session && this.#channels.get(channel.name) === channel) this.#open(channel);
        }, RETRY_MS * Math.random());
      } else if (outcome.code !== 'closed') {
        this.#end(channel, outcome);
      }
    });
  }

  #catchUp(channel: SharedChannel, subscription: ChannelSubscription): void {
    if (subscription.late) channel.catchUp(subscription, (range) => this.#history(channel.name, range));
  }

  #end(channel: SharedChannel, error?: CallError): void {
    this.#channels.delete(channel.name);
    channel.end(error);
    this.#handOver(channel);
  }

  /** If the server's code has subscribed the client, too, that goes on behind what its own subscription has got. */
  #handOver({ name, position }: SharedChannel): unknown {
    const served = this.#served.get(name);
    if (served && position) served.position = position;
    return served?.subscriptions.size;
  }

  #history(c: string, { since, limit, reverse, ...options }: HistoryOptions): Promise<Answer> {
    return this.#ask({ t: 'hist', c, since: sinceOf(since), limit, reverse }, options);
  }

  #interface(channel: SharedChannel, subscription: ChannelSubscription): Subscription {
    const { name } = channel;
    return {
      channel: name,
      get position() {
        return channel.position;
      },
      presence: async (options) => {
        const members: Member[] = [];
        for (;;) {
          const after = members.at(-1)?.socketId;
          const { header, data } = await this.#ask({ t: 'pres', c: name, limit: PAGE, after }, options);
          const page = membersOf(data);
          members.push(...page);
          if (!header.more || !page.length) return members;
        }
      },
      history: async (options = {}) => {
        const { header, found } = await this.#history(name, options);
        return { position: positionOf(header) as Position, publications: found };
      },
      setInfo: async (info, options) => {
        const told = copied({ info });
        await this.#ask({ t: 'info', c: name, ...told }, options);
        channel.info = told.info;
      },
      close: () => {
        if (!channel.subscriptions.delete(subscription)) return;
        subscription.end();
        if (channel.subscriptions.size || this.#channels.get(name) !== channel) return;
        this.#channels.delete(name);
        const goesOn = this.#handOver(channel);
        if (this.status !== 'open') return;
        // what is still on its way is told to nobody, unless the server's code has subscribed it, too
        const ended = new SharedChannel(name);
        ended.ready = true;
        if (!goesOn) this.#served.set(name, ended);
        this.#requests.askNow({ t: 'unsub', c: name }, () => {
          if (this.#served.get(name) === ended) this.#served.delete(name);
        });
      },
      [Symbol.asyncIterator]: () => subscription.iterate(),
    };
  }

  #receive(header: Header, payload: Payload): void {
    const { t, c = '', re } = header;
    const channel = [this.#channels.get(c), this.#served.get(c)].find((one) => one?.ready);
    if (t === 'ok' || t === 'err') this.#requests.answered(header, payload);
    else if (t === 'call') this.#answer(header, payload);
    else if (t === 'sub') this.#serve(header);
    else if (t === 'gap') channel?.gap(header);
    else if (t !== undefined) channel?.presence(t, header);
    else if (re !== undefined) this.#requests.found(header, payload);
    else if (channel && header.v === undefined) channel.published(header, payload);
    else if (!header.x) tellAll(this.#onMessage, messageOf(header, payload));
  }

  /** The server's code has subscribed it. If it had so before a loss, what was missed is read from the history. */
  #serve(header: Header): void {
    const { c = '' } = header;
    const before = this.#served.get(c);
    const [earlier] = before?.subscriptions ?? [];
    const caught = earlier?.position;
    let since = earlier?.late?.since;
    // on the same connection it begins anew, and a subscription of the client's own that was there recovers by itself; without
    // a position nobody knows what was missed
    if (!since && before && !before.ready && before.reader !== this.#channels.get(c)) {
      since = before.position ?? ({} as Position);
      // what the history brought need not come again
      if (caught && !(caught.epoch === since.epoch && caught.offset <= since.offset)) since = caught;
    }
    earlier?.end();
    this.#served.delete(c);
    const channel = new SharedChannel(c);
    const subscription = new ChannelSubscription(
      {
        since,
        onMessage: (message: Message) => tellAll(this.#onMessage, message),
        onGap: (position) => tellAll(this.#onGap, c, position),
      },
      true,
    );
    channel.subscriptions.add(subscription);
    this.#served.set(c, channel);
    forgetOldest(this.#served);
    channel.opened(header);
    this.#catchUp(channel, subscription);
  }

  /** Answers a call of the server, if the connection is still the same. */
  async #answer({ id, m: method }: Header, payload: Payload): Promise<void> {
    const session = this.#session;
    const answer = (message: string | Uint8Array) => {
      if (session === this.#session) this.#connection.send(message);
    };
    try {
      const handler = this.#handlers.get(method);
      if (!handler) throw new CallError('not_found');
      answer(encode({ t: 'ok', id }, payloadOf(await handler(dataOf(payload)))));
    } catch (error) {
      const { code, reason } = error instanceof CallError ? error : { code: 'failed', reason: error };
      // the server refuses half a pair of surrogates
      const text = reason && `${reason}`.slice(0, 500).replace(/\p{Cs}/gu, '');
      answer(encode({ t: 'err', id, code, reason: text }));
    }
  }
}

/** Calls all listeners. */
function tellAll<Told extends unknown[]>(listeners: Set<(...told: Told) => void>, ...told: Told): void {
  for (const listener of listeners) safely(() => listener(...told));
}

function added<Listener>(listeners: Set<Listener>, listener: Listener): () => void {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

function must(value: unknown, name: string): void {
  if (typeof value !== 'string' || !value) throw new TypeError(`${name} must be text`);
}

/** Two random numbers are enough not to meet by chance, and need no `crypto`, which insecure pages and React Native lack. */
const randomKey = () => `${Math.random()}${Math.random()}`;
