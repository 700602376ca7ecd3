/** The request that opens a connection, and the answers of `handleOpen` to it. Types only. */

import type { Data } from '../gateway/target.js';
import type { Transport } from './kinds.generated.js';

export type { Transport };

/** The request that opens a connection. */
export interface OpenRequest {
  /** Path and query, as sent: `"/chat?room=1"`. Empty if the protocol is not HTTP. */
  readonly url: string;
  /** The path, as sent (percent-encoded): `"/chat"`. */
  readonly path: string;
  /** The query, parsed on first use. */
  readonly query: URLSearchParams;
  /** The headers, as in the third argument of `handleOpen`. */
  readonly headers: Record<string, string>;
  /** The subprotocols that the client offers, in its order of preference. */
  readonly protocols: readonly string[];
  /** The transport that the socket will use. */
  readonly transport: Transport;
  /** Whether the connection uses TLS. */
  readonly encrypted: boolean;
  /** The client's port. 0 on a unix socket, and if a trusted proxy named the client in a header. */
  readonly port: number;
  /** The client's TLS certificate, if `tls.clientCertificates` asks for one and the client sent one. */
  readonly clientCertificate: ClientCertificate | undefined;
}

/** The certificate that a client sent. An authority in `tls.ca` has signed it. */
export interface ClientCertificate {
  /**
   * The subject: `{ CN: 'alice', O: 'Example' }`. An attribute without a common short name has its OID as its name. An
   * attribute that occurs several times is an array. Values with control characters are left out.
   */
  readonly subject: Record<string, string | string[]>;
  /** The whole certificate in DER. `new X509Certificate(raw)` of `node:crypto` reads the rest. */
  readonly raw: Uint8Array;
}

/**
 * An answer of `handleOpen` that refuses the connection: with an HTTP response or, if the protocol is not HTTP, by
 * closing it.
 */
export interface Rejection {
  /** The status of the response, 300 to 599. */
  status: number;
  /** Headers of the response; an array gives a header several values. */
  headers?: Record<string, string | string[]>;
  /** The response's body. Default: none. */
  body?: Data;
}

/** An answer of `handleOpen` that accepts the connection with more options. */
export interface Acceptance<Data = unknown> {
  /** The subprotocol to select. The client must have offered it. */
  protocol?: string;
  /** The token of the socket, as with `setToken`. */
  token?: Data;
  /** Headers that are added to the 101 response, or to the response of an event stream. */
  headers?: Record<string, string | string[]>;
  /**
   * What the connection counts for in `limits.connectionsPerKey` and `limits.messagesPerSecondPerKey`, such as the id of
   * its user: 1 to 256 bytes of UTF-8. Connections of all listeners and workers of this node with the same key count
   * together. If the key has too many connections, this one is refused with 503, and `handleClose` follows with 1013.
   * Without these limits, the key has no effect.
   */
  limitKey?: string;
  /**
   * `false`: nothing that is sent to this connection is compressed from the answer on, whatever the option `compression` says. The
   * client may still compress what it sends.
   */
  compress?: boolean;
}

/** What `handleOpen` may return. `false` refuses with 403. Everything that is not a `Rejection` accepts. */
export type OpenAnswer<Data = unknown> = boolean | Rejection | Acceptance<Data> | undefined | null | void;
