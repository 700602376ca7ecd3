/**
 * Large bodies of a protocol's own, by the ids of their transfers. Passes pieces and reports to the owner of each
 * transfer.
 */

/** The owner of a transfer. */
export interface TransferEnd {
  /** Gets a piece that the peer sent. The callee owns its memory. */
  piece(piece: Buffer, last: boolean): void;
  /** Gets a report about the transfer: one of the `TURN_` constants. */
  turn(turn: number): void;
}

/** See the module. */
export class Transfers {
  readonly #ends = new Map<number, TransferEnd>();

  add(transfer: number, end: TransferEnd): void {
    this.#ends.set(transfer, end);
  }

  /** Forgets a transfer. */
  delete(transfer: number): void {
    this.#ends.delete(transfer);
  }

  find(transfer: number): TransferEnd | undefined {
    return this.#ends.get(transfer);
  }
}
