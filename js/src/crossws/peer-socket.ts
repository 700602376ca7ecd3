/** The part of the browser's `WebSocket` that a peer has. Has no events: hooks are called for these. */

/** The peer that it belongs to. */
interface Owner {
  readonly bufferedAmount: number;
  send(data: unknown): unknown;
  close(code?: number, reason?: string): void;
}

/** See the module. */
export class PeerSocket {
  /** 1 is open, 2 closing, 3 closed. */
  readyState = 1;
  binaryType = 'nodebuffer';
  readonly #owner: Owner;
  readonly #request: Request;
  readonly #protocol: string;

  constructor(owner: Owner, request: Request, protocol: string) {
    this.#owner = owner;
    this.#request = request;
    this.#protocol = protocol;
  }

  /** The subprotocol that was agreed on. Without one, what the client offered, as crossws has it everywhere. */
  get protocol(): string {
    return this.#protocol || (this.#request.headers.get('sec-websocket-protocol') ?? '');
  }

  /** The extensions that the client offered, as crossws has them everywhere. */
  get extensions(): string {
    return this.#request.headers.get('sec-websocket-extensions') ?? '';
  }

  get url(): string {
    return this.#request.url.replace(/^http/, 'ws');
  }

  get bufferedAmount(): number {
    return this.#owner.bufferedAmount;
  }

  send(data: unknown): void {
    this.#owner.send(data);
  }

  close(code?: number, reason?: string): void {
    this.#owner.close(code, reason);
  }
}
