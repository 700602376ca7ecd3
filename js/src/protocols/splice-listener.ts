/** The options and handlers of a listener for splice, and the plan that the native side gets. Types only. */

import type { TlsSource } from '../options/tls.js';
import type { Origins } from './http-listener.js';

/** Options of a listener with `protocol: 'splice'`. */
export interface SpliceOptions {
  /** Many WebSockets of a client in one, as wsplice has it. */
  protocol: 'splice';
  /**
   * Hosts that clients may have connections to: names and addresses without a port, each text split at white space and commas,
   * compared without case. `*` and resolution there are none. An address that is listed, and `localhost`, may be one that
   * is not public. Default: none is listed, and nothing is reached without `anyTarget` or `handleSpliceConnect`.
   */
  allowedHostnames?: string | string[];
  /** Whether every host may be reached where none is listed. Default: true on loopback addresses and unix sockets, else false. */
  anyTarget?: boolean;
  /**
   * Whether addresses that are not public may be reached: those of this machine, of private networks and the others of IANA's
   * special-purpose registries. Default false: only those that are listed as such.
   */
  privateTargets?: boolean;
  /** Authorities whose certificates `wss:` targets may have, beside the platform's: PEM, or the path or `file:` URL of a PEM file. */
  targetCa?: TlsSource | TlsSource[];
  /** Which browser origins may connect. Default `'same-host'`. */
  origins?: Origins;
  /**
   * Whether `millrace:/path?query` is a target: a WebSocket of this gateway on that path, with `handleOpen` and all handlers, as if
   * the client had opened it by itself. Default false.
   */
  localTargets?: boolean;
  /** Whether all relayed messages are binary towards the client. Default false: those of text are, where index and text are UTF-8. */
  binary?: boolean;
  /** The name of the event that tells of a target's end. Default `'onSocketDisconnect'`; the program wsplice says `'onSocketClosed'`. */
  eventName?: SpliceEventName;
  /** `GET` of this path answers with the counters of `stats()` as JSON; `true` is `"/stats"`. Default `false`. */
  stats?: boolean | string;
  /** `GET` of this path answers with metrics as Prometheus reads them; `true` is `"/metrics"`. Default `false`. */
  metrics?: boolean | string;
  /** As on a listener that speaks HTTP. Default `false`. */
  health?: boolean | string;
  /** As on a listener that speaks HTTP. Default: that of `health`. */
  ready?: boolean | string;
}

/** How the event is called that tells of a target's end. */
export type SpliceEventName = 'onSocketDisconnect' | 'onSocketClosed';

/** What `handleSpliceConnect` may answer: `false` refuses with 4006; a URL, or one and headers, takes the place of the client's. */
export type SpliceAnswer = boolean | string | SpliceTarget | undefined | null | void;

/** A target in the place of the one that a client wants. */
export interface SpliceTarget {
  /** Default: the client's. */
  url?: string;
  /** All headers of the handshake beside its own. Default: the client's. */
  headers?: Record<string, string>;
}

/** Handlers of a worker module for listeners with `protocol: 'splice'`. */
export interface SpliceHandlers<Token = Uint8Array> {
  /**
   * A client wants a connection to this URL with these headers, whose names are in lower case. May refuse it or have another one
   * made. Where no host is listed, hosts that it accepts may be reached; addresses that are not public only with
   * `privateTargets`. Other calls of the session do not wait for a promise. Throwing fails the call and closes the session with 1011.
   */
  handleSpliceConnect?(
    url: string,
    headers: Record<string, string>,
    socketId: number,
    token?: Token,
  ): SpliceAnswer | Promise<SpliceAnswer>;
}

/** What the native side is told. */
export interface SplicePlan {
  allowedHostnames: string[];
  anyTarget: boolean;
  privateTargets: boolean;
  ca: Uint8Array;
  origins: Origins;
  localTargets?: boolean;
  binary?: boolean;
  eventName?: SpliceEventName;
  stats?: string;
  metrics?: string;
  health?: string;
  ready?: string;
}
