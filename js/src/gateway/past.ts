/** Channels with history: the checks of options, and the calls. A store of histories answers them later. */

import { MillraceError } from '../errors.js';
import { shown } from '../options/fields.js';
import type {
  History,
  HistoryOptions,
  Position,
  Published,
  PublishOptions,
  SubscribeOptions,
  SubscribeResult,
} from './positions.js';
import { infoText, noPresence } from './presence.js';
import { answered, type Questions } from './questions.js';
import type { Data, Name, Pattern, Target } from './target.js';

/** Publishes. */
export async function publish(
  questions: Questions,
  channel: Name,
  data: Data,
  options?: PublishOptions,
): Promise<Published> {
  const { native } = questions;
  const { idempotencyKey, compress } = read<PublishOptions>(options);
  if (idempotencyKey !== undefined) {
    const length = typeof idempotencyKey === 'string' ? Buffer.byteLength(idempotencyKey) : 0;
    if (length === 0 || length > LONGEST_KEY) {
      const wrong = length > LONGEST_KEY ? `${length} bytes` : shown(idempotencyKey);
      throw new TypeError(`option 'idempotencyKey' must be a string of 1 to ${LONGEST_KEY} bytes, not ${wrong}`);
    }
  }
  const published = native.publish(channel, data, idempotencyKey, flag(compress, 'compress') ?? true);
  const { deliveries, position, question } = published;
  if (question === undefined) return { deliveries, position };
  await answered(questions, question, unavailable);
  const [epoch = '', offset, isRepeated] = String(native.takeResult(question)).split(' ');
  return { deliveries: isRepeated === '1' ? 0 : deliveries, position: { epoch, offset: Number(offset) } };
}

/** Subscribes at a position, or as members. */
export async function subscribeAt(
  questions: Questions,
  who: Target,
  channel: Name | Pattern,
  options: SubscribeOptions,
): Promise<SubscribeResult[]> {
  const { native } = questions;
  const { since, last, member } = read<SubscribeOptions>(options);
  if (since !== undefined && last !== undefined) {
    throw new TypeError("argument 'options' must not have both 'since' and 'last'");
  }
  const { epoch, offset } = position(since);
  const info = member === undefined ? undefined : infoText(member, "option 'member'");
  const number = offset ?? whole(last, 'last');
  let results = native.subscribeAt(who, channel, epoch, number, info);
  while (typeof results === 'number') {
    await answered(questions, results, unavailable);
    results = native.subscribeAt(who, channel, epoch, number, info);
  }
  if (results === undefined) throw noHistory();
  if (results === null) throw noPresence();
  return results;
}

/** Reads what a channel has kept. */
export async function history(questions: Questions, channel: Name, options?: HistoryOptions): Promise<History> {
  const { native } = questions;
  const { since, limit, reverse } = read<HistoryOptions>(options);
  const { epoch, offset } = position(since);
  const past = native.history(channel, epoch, offset, whole(limit, 'limit'), flag(reverse, 'reverse') ?? false);
  if (past === undefined) throw noHistory();
  if (typeof past !== 'number') return past;
  await answered(questions, past, unavailable);
  const taken = native.takePast(past);
  if (taken === undefined) throw unavailable();
  return taken;
}

function unavailable(): MillraceError {
  return new MillraceError('ERR_MILLRACE_HISTORY_UNAVAILABLE', 'the gateway was stopped before the store has answered');
}

function read<T extends object>(options: T | undefined): Partial<T> {
  if (options === undefined) return {};
  if (typeof options === 'object' && options !== null) return options;
  throw new TypeError(`argument 'options' must be an object, not ${shown(options)}`);
}

function position(since: unknown): Partial<Position> {
  if (since === undefined) return {};
  const { epoch, offset } = (since ?? {}) as Partial<Position>;
  if (typeof epoch === 'string' && Number.isSafeInteger(offset) && (offset as number) >= 0) {
    return { epoch, offset: offset as number };
  }
  throw new TypeError(`option 'since' must be a position { epoch, offset }, not ${shown(since)}`);
}

function whole(value: unknown, name: string): number | undefined {
  if (value === undefined || (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MOST)) {
    return value as number | undefined;
  }
  throw new TypeError(`option '${name}' must be a whole number from 0 to ${MOST}, not ${shown(value)}`);
}

function flag(value: unknown, name: string): boolean | undefined {
  if (value === undefined || typeof value === 'boolean') return value;
  throw new TypeError(`option '${name}' must be true or false, not ${shown(value)}`);
}

function noHistory(): MillraceError {
  return new MillraceError('ERR_MILLRACE_NO_HISTORY', "the channel's terms ask for no history");
}

const LONGEST_KEY = 64;

const MOST = 4_294_967_295;
