/**
 * The connections of a worker by slot. Owns their ids, eight bytes each, and the state of those that have any. Calls no
 * handler.
 */

import { Connection, hasState } from './connection.js';

/** See the module. */
export class Connections {
  /** Socket ids by slot. 0: no connection. */
  #ids = new Float64Array(FIRST_SLOTS);
  /** Connections that have state, by slot. */
  readonly #known: (Connection | undefined)[] = [];
  /** Stands for the connection that was found last, if that one had no state. */
  #lent = new Connection(0);
  #lentSlot = 0;

  /** Adds a connection. A slot is reused after its CLOSE record, or after a refusal. */
  open(slot: number, id: number): Connection {
    if (slot >= this.#ids.length) this.#grow(slot);
    this.#ids[slot] = id;
    if (slot < this.#known.length) this.#known[slot] = undefined;
    return this.#lend(slot, id);
  }

  /** The connection in a slot. It is valid until `settle`, and longer only if it has state by then. */
  find(slot: number): Connection | undefined {
    const known = this.#known[slot];
    if (known !== undefined) return known;
    const id = this.#ids[slot];
    return id === undefined || id === 0 ? undefined : this.#lend(slot, id);
  }

  /** Removes a connection and returns it, if it has this id. */
  close(slot: number, id: number): Connection | undefined {
    if (this.#ids[slot] !== id) return undefined;
    const connection = this.find(slot);
    this.#ids[slot] = 0;
    if (slot < this.#known.length) this.#known[slot] = undefined;
    return connection;
  }

  /** Ends the handling of an event: a connection that has state now keeps it. */
  settle(): void {
    if (hasState(this.#lent)) this.#keep();
  }

  clear(): void {
    this.#ids = new Float64Array(0);
    this.#known.length = 0;
  }

  #lend(slot: number, id: number): Connection {
    const connection = this.#lent;
    connection.id = id;
    this.#lentSlot = slot;
    return connection;
  }

  #keep(): void {
    const [connection, slot, known] = [this.#lent, this.#lentSlot, this.#known];
    this.#lent = new Connection(0);
    if (this.#ids[slot] !== connection.id) return; // its pending handler keeps it
    // without holes, which would make V8 look the slots up in a dictionary
    while (known.length <= slot) known.push(undefined);
    known[slot] = connection;
  }

  #grow(slot: number): void {
    // few steps, because the old memory stays until the next collection of garbage
    let length = Math.max(this.#ids.length, FIRST_SLOTS);
    while (length <= slot) length *= GROWTH;
    const ids = new Float64Array(length);
    ids.set(this.#ids);
    this.#ids = ids;
  }
}

const FIRST_SLOTS = 4096;
const GROWTH = 4;
