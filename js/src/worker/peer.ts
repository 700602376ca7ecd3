/**
 * Who is at the other end of a socket, as the first event of a protocol's own code tells it: `Peer::fields` in
 * `crates/gateway/src/listener.rs`. Reads it, nothing else.
 */

/** Who is at the other end. */
export interface PeerInfo {
  /** Undefined on a unix socket. */
  readonly remoteAddress: string | undefined;
  /** Undefined on a unix socket. */
  readonly remotePort: number | undefined;
  readonly encrypted: boolean;
}

/** Reads the fields: the id of the listener, or of the terms by which was dialled, and the peer. */
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

/** Three numbers; the address follows. */
const OPENED_BYTES = 12;
