/** The options of a listener that speaks HTTP, and the plan that the native side gets. Types only. */

import type { StaticOptions, StaticPlan } from '../options/static.js';

export type { StaticOptions };

/** Paths of a listener at which something other than a WebSocket answers. All are off by default. */
export interface PathOptions {
  /**
   * `GET` of this path opens a socket that only receives, as Server-Sent Events; `true` is `"/events"`. `handleOpen`
   * decides over it as over a WebSocket. A client that does not accept `text/event-stream` gets 406. Default `false`.
   */
  events?: boolean | string;
  /**
   * `GET` of this path answers with the counters of `stats()` as JSON; `true` is `"/stats"`. For a listener that only you
   * can reach. Default `false`.
   */
  stats?: boolean | string;
  /**
   * `GET` of this path answers with metrics as Prometheus reads them; `true` is `"/metrics"`. For a listener that only you
   * can reach. Default `false`.
   */
  metrics?: boolean | string;
  /**
   * `GET` of this path answers 200 while the gateway answers at all; `true` is `"/health"`. Where it is given, `ready` is, too.
   * Default `false`.
   */
  health?: boolean | string;
  /**
   * `GET` of this path answers 200 if the gateway should get new clients, else 503: while a server of it stops, while no worker
   * takes connections, and without the link to other nodes, if there is to be one. `true` is `"/ready"`. Default: that of `health`.
   */
  ready?: boolean | string;
}

/** Options of listeners with `protocol: 'http'`: in `StartOptions` for all of them, in a `Listener` for that one. */
export interface HttpOptions extends PathOptions {
  /** Which browser origins may connect. Default `'*'`. */
  origins?: Origins;
  /**
   * The path, or paths, on which WebSockets open, compared as sent. Elsewhere a handshake is an ordinary request: for a file or a
   * `fetch` handler, or it gets 404. Default: any.
   */
  websocketPath?: string | string[];
  /**
   * A directory whose files are served, without JavaScript: its path, or more about it; or several. They answer behind
   * WebSockets and the paths of `stats`, `metrics` and `events`, and before `fetch`.
   */
  static?: string | StaticOptions | (string | StaticOptions)[];
}

/** Options of a listener with `protocol: 'http'`. What it does not say is as in `StartOptions`. */
export interface HttpListenerOptions extends HttpOptions {
  /** HTTP (default): WebSockets, event streams, files and requests. */
  protocol?: 'http';
  /**
   * Whether requests with the methods CONNECT (HTTP/1.1 only) and TRACE reach the handlers. Default false: Millrace answers them
   * itself, with 501 and 405.
   */
  rawMethods?: boolean;
}

/**
 * Which browser origins may connect: any, only those whose host and port equal the request's `Host`, or a list of
 * `scheme://host[:port]`. Refused requests get 403 before the upgrade; requests without an `Origin` pass.
 */
export type Origins = '*' | 'same-host' | string[];

/** What the native side is told. Only what was given; a path that is off is not there. */
export type HttpPlan = {
  origins?: Origins;
  websocketPaths?: string[];
  rawMethods?: boolean;
  static?: StaticPlan[];
} & PathPlan;

/** The paths that something answers at. */
export type PathPlan = { [key in keyof PathOptions]?: string };
