/** The options of a listener that speaks RESP, and the plan that the native side gets. Types only. */

/** Options of a listener with `protocol: 'resp'`. */
export interface RespOptions {
  /** The Redis protocol, for Redis clients that publish, subscribe and use keys. */
  protocol: 'resp';
  /**
   * The password of the user `default`, who may do everything. Without it and without `users`, no password is asked
   * for.
   */
  password?: string;
  /** Users and their permissions. */
  users?: RespUser[];
  /**
   * The type of message that WebSocket clients get for a `PUBLISH`. `'auto'` (default): text if the payload is valid
   * UTF-8, else binary. `'text'`: text; a payload that is not UTF-8 is refused. `'binary'`: binary.
   */
  publishAs?: 'auto' | 'text' | 'binary';
  /**
   * Whether the listener may have no password although other machines can connect. Default false: without `password`
   * and `users`, the address must be a loopback address or a unix socket.
   */
  allowAnyone?: boolean;
}

/** A user of a listener with `protocol: 'resp'`. */
export interface RespUser {
  /** The name in `AUTH name password`. */
  name: string;
  /** The password in `AUTH name password`. It must not be empty. */
  password: string;
  /**
   * Patterns, as in `PSUBSCRIBE`, of the channels that the user may publish and subscribe to. The user may subscribe to
   * a pattern only if it is in this list. Default: all channels.
   */
  channels?: string[];
  /** Patterns of the keys that the user may read and write. Default: all keys. */
  keys?: string[];
  /** Names of the commands that the user may use: `'publish'`, `'client'`, `'client|id'`. Default: all commands. */
  commands?: string[];
}

/** The options in the form of the native side. */
export interface RespPlan {
  password?: string;
  users: RespUser[];
  publishAs: 'auto' | 'text' | 'binary';
}
