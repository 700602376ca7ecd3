/** A message as the hook `message` gets it. Converts on demand. */

import type { Message, Peer } from 'crossws' with { 'resolution-mode': 'import' };

/** See the module. Implements the class `Message` of crossws, which cannot be imported as a value. */
export class CrosswsMessage {
  readonly event = undefined;
  readonly peer: Peer;
  readonly rawData: string | Uint8Array;
  #id: string | undefined;
  #bytes: Uint8Array | undefined;
  #text: string | undefined;
  #json: { value: unknown } | undefined;

  constructor(rawData: string | Uint8Array, peer: Peer) {
    this.rawData = rawData;
    this.peer = peer;
  }

  /** The same object in the type of crossws. */
  get typed(): Message {
    return this as unknown as Message;
  }

  get id(): string {
    this.#id ??= crypto.randomUUID();
    return this.#id;
  }

  uint8Array(): Uint8Array {
    this.#bytes ??= typeof this.rawData === 'string' ? Buffer.from(this.rawData) : this.rawData;
    return this.#bytes;
  }

  /** Has the bytes of this message alone, while the buffer behind `rawData` may hold others, too. */
  arrayBuffer(): ArrayBuffer {
    const bytes = this.uint8Array();
    if (bytes.byteLength !== bytes.buffer.byteLength) this.#bytes = Uint8Array.prototype.slice.call(bytes);
    return this.uint8Array().buffer as ArrayBuffer;
  }

  blob(): Blob {
    return new Blob([this.uint8Array() as Uint8Array<ArrayBuffer>]);
  }

  text(): string {
    this.#text ??= typeof this.rawData === 'string' ? this.rawData : new TextDecoder().decode(this.rawData);
    return this.#text;
  }

  json<T = unknown>(): T {
    this.#json ??= { value: JSON.parse(this.text()) };
    return this.#json.value as T;
  }

  get data(): unknown {
    switch (this.peer.websocket.binaryType as string | undefined) {
      case 'arraybuffer':
        return this.arrayBuffer();
      case 'blob':
        return this.blob();
      case 'nodebuffer':
        return Buffer.from(this.uint8Array());
      case 'uint8array':
        return this.uint8Array();
      case 'text':
        return this.text();
      default:
        return this.rawData;
    }
  }

  toString(): string {
    return this.text();
  }

  [Symbol.toPrimitive](): string {
    return this.text();
  }

  [Symbol.for('nodejs.util.inspect.custom')](): unknown {
    return { message: { id: this.id, peer: this.peer, text: this.text() } };
  }
}
