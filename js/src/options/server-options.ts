/** The parsers for the options of a server's methods. Stops no server. */

import { readNumber, readObject, shown } from './fields.js';

/**
 * Checks the options of `Server.stop`.
 *
 * @throws {TypeError} naming the problem
 * @returns the time outboxes have to drain, in milliseconds
 */
export function parseStopOptions(options: unknown): number {
  if (options === undefined) return DRAIN_MS;
  const problems: string[] = [];
  const drain = readDrain(options, 'options', problems);
  if (problems.length > 0) throw new TypeError(problems.join('; '));
  return drain ?? DRAIN_MS;
}

function readDrain(options: unknown, at: string, problems: string[]): number | undefined {
  const root = readObject(options, at, ['drain'], problems);
  return readNumber(root['drain'], `${at}.drain`, { least: 0, most: 86_400_000 }, problems);
}

/** Checks the option `stopOnSignals`. */
export function readStopOnSignals(value: unknown, problems: string[]): void {
  const at = 'options.stopOnSignals';
  if (typeof value === 'object' && value !== null) readDrain(value, at, problems);
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

/** Default of `stop({ drain })`. */
const DRAIN_MS = 5_000;
