/** The options of a listener for Sockety: their types and their parser. Knows no wire. */

import { choice, readFlag, shown } from '../options/fields.js';
import { SOCKETY_RANGES } from '../options/limits.generated.js';
import type { Message } from '../sockety/message.js';
import type { ProtocolModule } from './protocol.js';

/** Options of a listener with `protocol: 'sockety'`. */
export interface SocketyOptions {
  /** Messages and responses of Sockety over TCP, a unix socket or TLS. */
  protocol: 'sockety';
  /**
   * What a publication, and what is sent to a socket, looks like: a message. With `'message'` its data is MessagePack: an array
   * of the channel, or nil for what was sent to the socket itself, the payload, and the pattern, if the client is subscribed to
   * one. With `'raw'` its data is the payload. Default `'message'`.
   */
  publishForm?: SocketyPublishForm;
  /** The action of such a message: at most 1024 bytes of UTF-8. Default `'publish'`. */
  publishAction?: string;
  /** Messages that a client may have under way at the same time, each on a channel of the wire: 1 to 4096. Default 4096. */
  maxReceivedChannels?: number;
  /** Messages that are sent to a client at the same time, at most: 1 to 4096. Default 4096. */
  maxWritableChannels?: number;
  /**
   * Whether a channel on which a message to the client was given up is used again. Where the client is sockety-js, that ends its
   * process; Millrace frees such channels. Default false: only once the client has given up one of its own, as sockety-js never does.
   */
  reuseAbortedChannels?: boolean;
  /** Whether files may have other sizes than were announced. Default false: that closes the connection. */
  allowFilesSizeMismatch?: boolean;
  /** Whether clients are told before the gateway closes a connection. Default true. */
  sendGoAway?: boolean;
}

/** What a publication looks like. */
export type SocketyPublishForm = 'message' | 'raw';

/** Handlers of a worker module for listeners with `protocol: 'sockety'`. */
export interface SocketyHandlers<Token = Uint8Array> {
  /**
   * A message of Sockety has begun. Messages of one connection come in order, but the next one does not wait for a promise: a
   * handler may wait for answers. Contents that nobody asked for when the handler is done are dropped. Without this handler a
   * message closes its connection with 1011.
   */
  handleSocketyMessage?(message: Message, socketId: number, token?: Token): void | Promise<void>;
}

/** What the native side is told. */
export type SocketyPlan = Omit<SocketyOptions, 'protocol'>;

/** See `ProtocolModule`. */
export const sockety = {
  name: 'sockety',
  keys: [
    'publishForm',
    'publishAction',
    'maxReceivedChannels',
    'maxWritableChannels',
    'reuseAbortedChannels',
    'allowFilesSizeMismatch',
    'sendGoAway',
  ],
  limits: SOCKETY_RANGES,
  read(listener, at, _address, _defaults, problems) {
    const plan: Record<string, unknown> = {
      publishForm: readForm(listener['publishForm'], `${at}.publishForm`, problems),
      publishAction: readAction(listener['publishAction'], `${at}.publishAction`, problems),
    };
    for (const name of CHANNELS) plan[name] = readChannels(listener[name], `${at}.${name}`, problems);
    for (const name of FLAGS) plan[name] = readFlag(listener[name], `${at}.${name}`, problems);
    return Object.fromEntries(Object.entries(plan).filter(([, value]) => value !== undefined)) as SocketyPlan;
  },
  worker(host) {
    // loaded here, because most workers never get a message of Sockety
    const own: typeof import('../sockety/sockety-worker.js') = require('../sockety/sockety-worker.js');
    return own.socketyWorker(host);
  },
} as const satisfies ProtocolModule<SocketyPlan>;

const FORMS: readonly string[] = ['message', 'raw'] satisfies SocketyPublishForm[];
const CHANNELS = ['maxReceivedChannels', 'maxWritableChannels'] as const;
const FLAGS = ['reuseAbortedChannels', 'allowFilesSizeMismatch', 'sendGoAway'] as const;
const MOST_CHANNELS = 4096;
const MOST_ACTION_BYTES = 1024;

function readForm(value: unknown, at: string, problems: string[]): string | undefined {
  if (value !== undefined && !(typeof value === 'string' && FORMS.includes(value))) {
    problems.push(`${at} must be ${choice(FORMS)}, not ${shown(value)}`);
  }
  return value as string | undefined;
}

function readAction(value: unknown, at: string, problems: string[]): string | undefined {
  if (value === undefined || (typeof value === 'string' && Buffer.byteLength(value) <= MOST_ACTION_BYTES)) return value;
  problems.push(`${at} must be a string of at most ${MOST_ACTION_BYTES} bytes, not ${shown(value)}`);
  return undefined;
}

function readChannels(value: unknown, at: string, problems: string[]): number | undefined {
  if (value !== undefined && !(Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MOST_CHANNELS)) {
    problems.push(`${at} must be a whole number from 1 to ${MOST_CHANNELS}, not ${shown(value)}`);
  }
  return value as number | undefined;
}
