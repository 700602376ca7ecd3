/** The parser of the options of a listener for raw TCP. Frames no messages: the native side does. */

import { choice, type Fields, readFlag, shown } from '../options/fields.js';
import type { ProtocolModule } from './protocol.js';
import type { TcpFraming, TcpPlan } from './tcp-listener.js';

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
    // loaded on demand, because most workers never get an event of a stream
    const own: typeof import('../tcp/tcp-worker.js') = require('../tcp/tcp-worker.js');
    return own.tcpWorker(host);
  },
} as const satisfies ProtocolModule<TcpPlan>;

const FRAMINGS: readonly string[] = ['line', 'length', 'none'] satisfies TcpFraming[];

/** The framing that each option belongs to. */
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

/** Reports options that belong to another framing. */
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
