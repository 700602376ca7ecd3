/** The parser of the options of a listener for Sockety. Does not know the wire format. */

import { choice, readFlag, shown } from '../options/fields.js';
import { SOCKETY_RANGES } from '../options/limits.generated.js';
import type { ProtocolModule } from './protocol.js';
import type { SocketyPlan, SocketyPublishForm } from './sockety-listener.js';

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
    // loaded on demand, because most workers never get a message of Sockety
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
