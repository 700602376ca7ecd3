/** The options and handlers of a listener for splice, and the plan that the native side gets. Types only. */

import type { TlsSource } from '../options/tls.js';
import type { Origins } from './http-listener.js';

/** Options of a listener with `protocol: 'splice'`. */
export interface SpliceOptions {
  /** Many WebSockets of a client multiplexed in one, compatible with wsplice. */
  protocol: 'splice';
  /**
   * Hosts that clients may connect to: names and addresses without a port, separated by white space or commas within a
   * string, compared without case. `*` is not supported, and listed names are not resolved. A listed address, and
   * `localhost`, may be private. Default: no host is listed, and clients reach nothing without `anyTarget` or
   * `handleSpliceConnect`.
   */
  allowedHostnames?: string | string[];
  /**
   * Whether every host may be reached if none is listed. Default: true on loopback addresses and unix sockets, else
   * false.
   */
  anyTarget?: boolean;
  /**
   * Whether private addresses may be reached: those of this machine, of private networks and the others in IANA's
   * special-purpose registries. Default false: only those in `allowedHostnames`.
   */
  privateTargets?: boolean;
  /**
   * Certificate authorities for `wss:` targets, in addition to the platform's: PEM, or the path or `file:` URL of a PEM
   * file.
   */
  targetCa?: TlsSource | TlsSource[];
  /**
   * Whether targets may compress their messages (permessage-deflate); the gateway inflates them for the client. Messages to
   * targets are not compressed. Default false.
   */
  targetCompression?: boolean;
  /** Which browser origins may connect. Default `'same-host'`. */
  origins?: Origins;
  /**
   * Whether `millrace:/path?query` is a valid target: a WebSocket of this gateway on that path, with `handleOpen` and
   * all other handlers, as if the client had opened it directly. Default false.
   */
  localTargets?: boolean;
  /**
   * Whether all messages relayed to the client are binary. Default false: a text message stays text if its index and
   * its content are valid UTF-8.
   */
  binary?: boolean;
  /**
   * The name of the event that reports the end of a target. Default `'onSocketDisconnect'`; the program wsplice uses
   * `'onSocketClosed'`.
   */
  eventName?: SpliceEventName;
  /** A `GET` request for this path gets the counters of `stats()` as JSON. `true` is `"/stats"`. Default `false`. */
  stats?: boolean | string;
  /**
   * A `GET` request for this path gets metrics in the format of Prometheus. `true` is `"/metrics"`. Default `false`.
   */
  metrics?: boolean | string;
  /** As on a listener that speaks HTTP. Default `false`. */
  health?: boolean | string;
  /** As on a listener that speaks HTTP. Default: on if `health` is. */
  ready?: boolean | string;
}

/** The name of the event that reports the end of a target. */
export type SpliceEventName = 'onSocketDisconnect' | 'onSocketClosed';

/**
 * An answer of `handleSpliceConnect`. `false` refuses the connection with 4006. A URL, or an object with a URL and
 * headers, replaces the client's.
 */
export type SpliceAnswer = boolean | string | SpliceTarget | undefined | null | void;

/** A target that replaces the one that a client asked for. */
export interface SpliceTarget {
  /** The URL. Default: the client's. */
  url?: string;
  /** The headers of the handshake, except those that the handshake itself needs. Default: the client's. */
  headers?: Record<string, string>;
}

/** Handlers of a worker module for listeners with `protocol: 'splice'`. */
export interface SpliceHandlers<Token = Uint8Array> {
  /**
   * Called when a client asks for a connection to this URL with these headers, whose names are in lower case. The
   * handler may refuse the connection or replace its target. If no host is listed, hosts that it accepts may be
   * reached; private addresses need `privateTargets`. Other calls of the session do not wait for a promise. If the
   * handler throws, the call fails and the session is closed with 1011.
   */
  handleSpliceConnect?(
    url: string,
    headers: Record<string, string>,
    socketId: number,
    token?: Token,
  ): SpliceAnswer | Promise<SpliceAnswer>;
}

/** The options in the form of the native side. */
export interface SplicePlan {
  allowedHostnames: string[];
  anyTarget: boolean;
  privateTargets: boolean;
  ca: Uint8Array;
  targetCompression?: boolean;
  origins: Origins;
  localTargets?: boolean;
  binary?: boolean;
  eventName?: SpliceEventName;
  stats?: string;
  metrics?: string;
  health?: string;
  ready?: string;
}
