/** The options of a listener that speaks HTTP, and the plan that the native side gets. Types only. */

import type { AdminOptions, AdminPlan } from '../options/admin.js';
import type { CompressionOptions, CompressionPlan } from '../options/compression.js';
import type { StaticOptions, StaticPlan } from '../options/static.js';

export type { AdminOptions, CompressionOptions, StaticOptions };

/** Paths of a listener that answer something other than a WebSocket. All are off by default. */
export interface PathOptions {
  /**
   * A `GET` request for this path opens a socket that only receives, by Server-Sent Events. `true` is `"/events"`.
   * `handleOpen` accepts or refuses it like a WebSocket. A client that does not accept `text/event-stream` gets 406.
   * Default `false`.
   */
  events?: boolean | string;
  /**
   * A `GET` request for this path gets the counters of `stats()` as JSON. `true` is `"/stats"`. Use it on a listener
   * that only you can reach. Default `false`.
   */
  stats?: boolean | string;
  /**
   * A `GET` request for this path gets metrics in the format of Prometheus. `true` is `"/metrics"`. Use it on a
   * listener that only you can reach. Default `false`.
   */
  metrics?: boolean | string;
  /**
   * A `GET` request for this path gets 200 as long as the gateway answers at all. `true` is `"/health"`. This option
   * also turns `ready` on. Default `false`.
   */
  health?: boolean | string;
  /**
   * A `GET` request for this path gets 200 if the gateway should get new clients, else 503: while one of its servers
   * stops, while no worker takes connections, and while a configured backplane is not linked. `true` is `"/ready"`.
   * Default: on if `health` is.
   */
  ready?: boolean | string;
}

/**
 * Options of listeners with `protocol: 'http'`. In `StartOptions` they apply to all of these, in a `Listener` to that
 * one.
 */
export interface HttpOptions extends PathOptions {
  /** Which browser origins may connect. Default `'*'`. */
  origins?: Origins;
  /**
   * The path or paths on which WebSockets open, compared as sent. On other paths a handshake is an ordinary request,
   * for a file or a `fetch` handler; otherwise it gets 404. Default: every path.
   */
  websocketPath?: string | string[];
  /**
   * Whether messages of WebSockets are compressed for clients that offer it: browsers do, and `ws`. `true` has the defaults
   * of `CompressionOptions`. Default `false`.
   */
  compression?: boolean | CompressionOptions;
  /**
   * A page that shows connections, channels, workers, rates, slow readers, and a channel's messages as they pass, to
   * those who have its token. Needs `stats` on the same listener. Default `false`.
   */
  admin?: false | AdminOptions;
  /**
   * One or several directories whose files are served without JavaScript: a path, or an object with more options.
   * WebSockets and the paths of `stats`, `metrics`, `admin` and `events` take precedence over files, and files over `fetch`.
   */
  static?: string | URL | StaticOptions | (string | URL | StaticOptions)[];
}

/** Options of a listener with `protocol: 'http'`. Options that it does not have are those of `StartOptions`. */
export interface HttpListenerOptions extends HttpOptions {
  /** HTTP (default): WebSockets, event streams, files and requests. */
  protocol?: 'http';
  /**
   * Whether requests with the methods CONNECT (HTTP/1.1 only) and TRACE reach the handlers. Default false: Millrace
   * answers them with 501 and 405.
   */
  rawMethods?: boolean;
}

/**
 * Which browser origins may connect: all, only those whose host and port equal the request's `Host` header, or a list
 * of `scheme://host[:port]`. A refused request gets 403 before the upgrade. Requests without an `Origin` header are
 * allowed.
 */
export type Origins = '*' | 'same-host' | string[];

/** The options in the form of the native side. Holds only the given options, and no path that is off. */
export type HttpPlan = {
  origins?: Origins;
  websocketPaths?: string[];
  rawMethods?: boolean;
  static?: StaticPlan[];
  compression?: CompressionPlan;
  admin?: AdminPlan;
} & PathPlan;

/** The paths of `PathOptions` that are on. */
export type PathPlan = { [key in keyof PathOptions]?: string };
