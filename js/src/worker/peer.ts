/**
 * The peer of a socket, as the first event of a protocol's own code reports it. Reads what `Peer::fields` in
 * `crates/gateway/src/listener.rs` writes.
 */

/** The peer of a socket. */
export interface PeerInfo {
  /** The peer's address. Undefined on a unix socket. */
  readonly remoteAddress: string | undefined;
  /** The peer's port. Undefined on a unix socket. */
  readonly remotePort: number | undefined;
  readonly encrypted: boolean;
}

/** Reads the fields: the id of the listener or of the call that dialled, and the peer. */
export function readOpened(fields: Buffer): { terms: number; peer: PeerInfo } {
  const remoteAddress = fields.length > OPENED_BYTES ? fields.toString('latin1', OPENED_BYTES) : undefined;
  const port = fields.readUInt32LE(4);
  const peer = {
    remoteAddress,
    remotePort: remoteAddress === undefined ? undefined : port,
    encrypted: fields.readUInt32LE(8) === 1,
  };
  return { terms: fields.readUInt32LE(0), peer };
}

/** The bytes of the three numbers in front of the address. */
const OPENED_BYTES = 12;
