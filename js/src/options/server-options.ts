/** The parsers for the options of a server's methods. Stops no server. */

import { readNumber, readObject, shown } from './fields.js';

/** How a server stops. Times are in milliseconds. */
export interface StopPlan {
  /** Undefined: not given. */
  readonly drainMs: number | undefined;
  /** Undefined: not given. */
  readonly spreadMs: number | undefined;
  readonly code: number;
}

/** Default of `stop({ drain })`. */
export const DRAIN_MS = 5_000;

/** The close code of a spread stop, by default. */
const SERVICE_RESTART = 1012;

/** Connections are closed, and those that are left are cut at once. */
export const AT_ONCE: StopPlan = { drainMs: 0, spreadMs: 0, code: SERVICE_RESTART };

/**
 * Checks the options of `Server.stop`.
 *
 * @throws {TypeError} naming the problem
 */
export function parseStopOptions(options: unknown = {}): StopPlan {
  const problems: string[] = [];
  const plan = readStop(options, 'options', problems);
  if (problems.length > 0) throw new TypeError(problems.join('; '));
  return plan;
}

/**
 * Checks the options of a stop that cannot be spread.
 *
 * @throws {TypeError} naming the problem
 * @returns the time outboxes have to drain, in milliseconds
 */
export function parseDrainOptions(options: unknown = {}): number {
  const problems: string[] = [];
  const drain = readDrain(options, 'options', problems);
  if (problems.length > 0) throw new TypeError(problems.join('; '));
  return drain ?? DRAIN_MS;
}

function readStop(options: unknown, at: string, problems: string[]): StopPlan {
  const root = readObject(options, at, ['drain', 'spread', 'code'], problems);
  const { code } = root;
  if (code !== undefined && !isSendable(code)) {
    problems.push(`${at}.code must be 1000 to 1003, 1007 to 1014 or 3000 to 4999, not ${shown(code)}`);
  }
  if (code !== undefined && root['spread'] === undefined) problems.push(`${at}.code is used only with ${at}.spread`);
  return {
    drainMs: readNumber(root['drain'], `${at}.drain`, TIME, problems),
    spreadMs: readNumber(root['spread'], `${at}.spread`, TIME, problems),
    code: (code as number | undefined) ?? SERVICE_RESTART,
  };
}

function readDrain(options: unknown, at: string, problems: string[]): number | undefined {
  const root = readObject(options, at, ['drain'], problems);
  return readNumber(root['drain'], `${at}.drain`, TIME, problems);
}

function isSendable(code: unknown): code is number {
  const is = (least: number, most: number): boolean => Number(code) >= least && Number(code) <= most;
  return Number.isInteger(code) && (is(1000, 1003) || is(1007, 1014) || is(3000, 4999));
}

/** Checks the option `stopOnSignals`. */
export function readStopOnSignals(value: unknown, problems: string[]): void {
  readSignals(value, readStop, problems);
}

/** The same for servers whose stop cannot be spread. */
export function readDrainOnSignals(value: unknown, problems: string[]): void {
  readSignals(value, readDrain, problems);
}

function readSignals(
  value: unknown,
  read: (options: unknown, at: string, problems: string[]) => unknown,
  problems: string[],
): void {
  const at = 'options.stopOnSignals';
  if (typeof value === 'object' && value !== null) read(value, at, problems);
  else if (value !== undefined && typeof value !== 'boolean') {
    problems.push(`${at} must be true, false or an object such as { drain: 10000 }, not ${shown(value)}`);
  }
}

/**
 * Checks the options of `Server.replaceWorkers`.
 *
 * @throws {TypeError} naming the problem
 */
export function parseReplaceOptions(options: unknown): AbortSignal | undefined {
  if (options === undefined) return undefined;
  const problems: string[] = [];
  const { signal } = readObject(options, 'options', ['signal'], problems);
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    problems.push(`options.signal must be an AbortSignal, not ${shown(signal)}`);
  }
  if (problems.length > 0) throw new TypeError(problems.join('; '));
  return signal as AbortSignal | undefined;
}

const TIME = { least: 0, most: 86_400_000 };
