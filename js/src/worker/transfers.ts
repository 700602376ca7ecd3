/** Large bodies of a protocol's own, by the ids of their transfers: what comes of one goes to whoever it belongs to. */

/** Whoever a transfer belongs to. */
export interface TransferEnd {
  /** A piece of what the peer sends came. It is the callee's own. */
  piece(piece: Buffer, last: boolean): void;
  /** What became of it: one of the `TURN_` constants. */
  turn(turn: number): void;
}

/** See the module. */
export class Transfers {
  readonly #ends = new Map<number, TransferEnd>();

  add(transfer: number, end: TransferEnd): void {
    this.#ends.set(transfer, end);
  }

  /** Nothing of it is of interest any more. */
  delete(transfer: number): void {
    this.#ends.delete(transfer);
  }

  find(transfer: number): TransferEnd | undefined {
    return this.#ends.get(transfer);
  }
}
