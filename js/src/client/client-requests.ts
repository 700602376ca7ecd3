/** What a client has asked and what waits to be asked: bounded, in order, each settled once. */

import { CallError } from './call-error.js';
import type { Message, RequestOptions } from './client-interface.js';
import { dataOf, encode, type Header, messageOf, type Payload } from './v1-message.js';

/** An answer: its header, its payload, and the publications of the history behind it. */
export interface Answer {
  readonly header: Header;
  readonly data: unknown;
  readonly found: Message[];
}

/** The part of a connection that requests need. */
interface Carrier {
  readonly status: string;
  send(message: string | Uint8Array): void;
}

interface Request {
  readonly id: number;
  readonly message: string | Uint8Array;
  /** Whether it may wait for a connection. */
  readonly queue: boolean;
  /** The channel of a publication, which is sent again after a loss if the channel has history. */
  readonly channel: string | undefined;
  /** What has arrived of the answer. */
  answer?: Answer;
  settle(outcome: Answer | CallError): void;
}

/** How many wait at most. */
const WAITING = 1000;
/** How many are sent and not answered at most: less than a server's default for calls. */
const SENT = 100;
/** How many channels are remembered at most. */
const KNOWN = 1000;

/** Forgets the channels that were added first. */
export function forgetOldest(known: Set<unknown> | Map<unknown, unknown>): void {
  for (const oldest of known.keys()) if (known.size > KNOWN) known.delete(oldest);
}

export class Requests {
  readonly #carrier: Carrier;
  readonly #sent = new Map<unknown, Request>();
  #waiting: Request[] = [];
  #lastId = 0;
  /** Channels with history; the one that has not been used for longest goes. */
  readonly #keeping = new Set<string | undefined>();

  constructor(carrier: Carrier) {
    this.#carrier = carrier;
  }

  /** Sends a request when its turn comes. `channel` only for a publication. */
  ask(header: object, payload: Payload, options: RequestOptions, channel?: string): Promise<Answer> {
    const { queue = true, timeoutMs = 0 } = options;
    const { status } = this.#carrier;
    return new Promise((resolve, reject) => {
      if (status === 'closed' || (!queue && status !== 'open')) throw new CallError('closed');
      if (this.#waiting.length >= WAITING) throw new CallError('limit', `${WAITING} requests wait`);
      let timer: ReturnType<typeof setTimeout> | undefined;
      // throws for what JSON does not have
      const request = this.#make(header, payload, queue, channel, (outcome) => {
        clearTimeout(timer);
        if (outcome instanceof CallError) reject(outcome);
        else resolve(outcome);
      });
      // longer delays are none
      if (timeoutMs && timeoutMs < 2 ** 31) timer = setTimeout(() => this.#expire(request), timeoutMs);
      this.#waiting.push(request);
      this.pump();
    });
  }

  /** Sends a request at once. `settle` is called before anything that arrives later. Only while it is open. */
  askNow(header: object, settle: Request['settle']): void {
    let request: Request;
    try {
      request = this.#make(header, undefined, false, undefined, settle);
    } catch (error) {
      return settle(error as CallError);
    }
    this.#send(request);
  }

  /** Sends what waits. */
  pump(): void {
    while (this.#carrier.status === 'open' && this.#sent.size < SENT) {
      const request = this.#waiting.shift();
      if (!request) return;
      this.#send(request);
    }
  }

  /** An `ok` or `err` has arrived. */
  answered({ id, t, code = '', reason, ...header }: Header, payload: Payload): void {
    const request = this.#sent.get(id);
    if (!request) return;
    if (t === 'err') return this.#settle(request, new CallError(code, reason));
    if (request.channel) this.keeps(request.channel, header.e !== undefined);
    request.answer = { header, data: dataOf(payload), found: [] };
    this.#complete(request);
  }

  /** A publication of the history has arrived. */
  found(header: Header, payload: Payload): void {
    const request = this.#sent.get(header.re);
    request?.answer?.found.push(messageOf(header, payload));
    if (request) this.#complete(request);
  }

  /** Whether a channel has history: only then its publications can be sent again, as the server drops doubles. */
  keeps(channel: string, does: boolean): void {
    const keeping = this.#keeping;
    keeping.delete(channel);
    if (does) keeping.add(channel);
    forgetOldest(keeping);
  }

  /** The link is lost. With the connection closed, nothing waits any longer. */
  lost(): void {
    const { status } = this.#carrier;
    const failed: Request[] = [];
    const again = ({ id, queue, channel }: Request) =>
      queue && status !== 'closed' && (!this.#sent.has(id) || this.#keeping.has(channel));
    const all = [...this.#sent.values(), ...this.#waiting];
    this.#waiting = all.filter((request) => again(request) || !failed.push(request));
    this.#sent.clear();
    for (const { settle } of failed) settle(new CallError('closed'));
  }

  #make(
    header: object,
    payload: Payload,
    queue: boolean,
    channel: string | undefined,
    settle: Request['settle'],
  ): Request {
    const id = ++this.#lastId;
    return { id, message: encode({ ...header, id }, payload), queue, channel, settle };
  }

  #send(request: Request): void {
    this.#sent.set(request.id, request);
    this.#carrier.send(request.message);
  }

  #complete(request: Request): void {
    const { answer } = request;
    if (answer && answer.found.length >= (answer.header.n ?? 0)) this.#settle(request, answer);
  }

  #expire(request: Request): void {
    this.#waiting = this.#waiting.filter((other) => other !== request);
    this.#settle(request, new CallError('timeout'));
  }

  #settle(request: Request, outcome: Answer | CallError): void {
    this.#sent.delete(request.id);
    request.settle(outcome);
    this.pump();
  }
}
