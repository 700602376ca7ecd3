/** The request that opens a connection, and the answers of `handleOpen` to it. Types only. */

import type { Data } from '../gateway/target.js';
import type { Transport } from './kinds.generated.js';

export type { Transport };

/** The request that opens a connection. */
export interface OpenRequest {
  /** Path and query, as sent: `"/chat?room=1"`. Empty where the protocol is not HTTP. */
  readonly url: string;
  /** The path, as sent (percent-encoded): `"/chat"`. */
  readonly path: string;
  /** The query, parsed on first use. */
  readonly query: URLSearchParams;
  /** As the third argument of `handleOpen`. */
  readonly headers: Record<string, string>;
  /** The subprotocols that the client offers, in its order of preference. */
  readonly protocols: readonly string[];
  /** What the socket will speak. */
  readonly transport: Transport;
  /** The client's port; 0 on a unix socket, and where a trusted proxy names the client in a header. */
  readonly port: number;
  /** The client's TLS certificate, where `tls.clientCertificates` asked for one and the client has one. */
  readonly clientCertificate: ClientCertificate | undefined;
}

/** The certificate that a client showed; one of the authorities in `tls.ca` has signed it. */
export interface ClientCertificate {
  /**
   * Whom it names: `{ CN: 'alice', O: 'Example' }`. Attributes without a common short name go by their OID; one that is
   * there several times is a list. Values with control characters in them are left out.
   */
  readonly subject: Record<string, string | string[]>;
  /** All of it, in DER: `new X509Certificate(raw)` of `node:crypto` reads the rest. */
  readonly raw: Uint8Array;
}

/** An answer of `handleOpen` that refuses the connection: with an HTTP response, where the protocol is not HTTP by closing it. */
export interface Rejection {
  /** 300 to 599. */
  status: number;
  /** Headers of the response; an array gives a header several values. */
  headers?: Record<string, string | string[]>;
  /** The response's body. Default: none. */
  body?: Data;
}

/** An answer of `handleOpen` that accepts the connection and says more. */
export interface Acceptance<Data = unknown> {
  /** The subprotocol to select: one of those offered. */
  protocol?: string;
  /** As with `setToken`. */
  token?: Data;
  /** Headers added to the 101 response, or that of an event stream. */
  headers?: Record<string, string | string[]>;
}

/** What `handleOpen` may return: `false` refuses with 403, anything that is no rejection accepts. */
export type OpenAnswer<Data = unknown> = boolean | Rejection | Acceptance<Data> | undefined | null | void;
