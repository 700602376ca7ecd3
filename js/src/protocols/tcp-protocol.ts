/** The options of a listener for raw TCP: their types and their parser. Cuts no stream: the native side does. */

import { choice, type Fields, readFlag, shown } from '../options/fields.js';
import type { ProtocolModule } from './protocol.js';

/** Options of a listener with `protocol: 'tcp'`. */
export interface TcpOptions {
  /** Messages over TCP, or TLS, without another protocol. */
  protocol: 'tcp';
  /**
   * What a message is: `'line'` ends with a line feed, `'length'` has its length in front, and with `'none'` whatever came in
   * is passed on as it came. There is no default.
   */
  framing: TcpFraming;
  /** With `framing: 'length'`: how many bytes the length has, the highest first. Default 4. */
  lengthBytes?: 1 | 2 | 4;
  /**
   * With `framing: 'line'`: whether a first line that looks like a request of HTTP is a message. Default false: it closes the
   * connection, because a web page can make a browser send it.
   */
  allowHttp?: boolean;
}

/** How messages are told apart. */
export type TcpFraming = 'line' | 'length' | 'none';

/** Handlers of a worker module for listeners with `protocol: 'tcp'`. */
export interface TcpHandlers<Token = Uint8Array> {
  /**
   * The client sends nothing more, but may still read. The connection stays until `close` is called or `idleTimeoutMs` has
   * passed. Without this handler it is closed when all that came before is handled.
   */
  handleEnd?(socketId: number, token?: Token): void | Promise<void>;
}

/** What the native side is told. */
export interface TcpPlan {
  framing: TcpFraming;
  /** Only with `framing: 'length'`. */
  lengthBytes?: number;
  /** Only with `framing: 'line'`. */
  allowHttp?: boolean;
}

/** See `ProtocolModule`. */
export const tcp = {
  name: 'tcp',
  keys: ['framing', 'lengthBytes', 'allowHttp'],
  read(listener, at, _address, _defaults, problems) {
    const framing = readFraming(listener['framing'], `${at}.framing`, problems);
    if (framing !== undefined) checkFit(listener, at, framing, problems);
    const lengthBytes = readLengthBytes(listener['lengthBytes'], `${at}.lengthBytes`, problems);
    const allowHttp = readFlag(listener['allowHttp'], `${at}.allowHttp`, problems);
    if (framing === 'length') return { framing, lengthBytes };
    return framing === 'line' && allowHttp !== undefined ? { framing, allowHttp } : { framing: framing ?? 'none' };
  },
  worker(host) {
    // loaded here, because most workers never get an event of a stream
    const own: typeof import('../tcp/tcp-worker.js') = require('../tcp/tcp-worker.js');
    return own.tcpWorker(host);
  },
} as const satisfies ProtocolModule<TcpPlan>;

const FRAMINGS: readonly string[] = ['line', 'length', 'none'] satisfies TcpFraming[];

/** Which framing an option is for. */
const FOR = { lengthBytes: 'length', allowHttp: 'line' } as const;

const LENGTHS: readonly unknown[] = [1, 2, 4];
const USUAL_LENGTH = 4;

function readFraming(value: unknown, at: string, problems: string[]): TcpFraming | undefined {
  if (typeof value === 'string' && FRAMINGS.includes(value)) return value as TcpFraming;
  problems.push(
    value === undefined
      ? `${at} is required with protocol 'tcp': ${choice(FRAMINGS)}`
      : `${at} must be ${choice(FRAMINGS)}, not ${shown(value)}`,
  );
  return undefined;
}

/** Tells of options that are for another framing. */
function checkFit(listener: Fields, at: string, framing: TcpFraming, problems: string[]): void {
  for (const [key, wanted] of Object.entries(FOR)) {
    if (listener[key] !== undefined && framing !== wanted) problems.push(`${at}.${key} is for framing '${wanted}'`);
  }
}

function readLengthBytes(value: unknown, at: string, problems: string[]): number {
  if (value === undefined) return USUAL_LENGTH;
  if (!LENGTHS.includes(value)) problems.push(`${at} must be 1, 2 or 4, not ${shown(value)}`);
  return value as number;
}
