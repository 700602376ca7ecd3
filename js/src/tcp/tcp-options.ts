/** The options and arguments of a TCP server: types and checks. Opens no socket. */

import type { DrainOptions } from '../gateway/signals.js';
import { NOTHING, readFlag, readNumber, readObject, shown } from '../options/fields.js';
import { readDrainOnSignals } from '../options/server-options.js';
import type { Bytes } from './tcp-outgoing.js';

/** Options of `createServer`. */
export interface TCPServerOptions {
  /**
   * How much received data of a connection may wait to be taken: UTF-16 units of its `buffer` plus bytes of its
   * `bytes`. When the limit is reached, the connection is not read until data is taken; up to 384 KiB that are already
   * on the way still arrive. Default 1 MiB.
   */
  bufferLimit?: number;
  /**
   * How many written bytes of a connection may wait to be sent. When the limit is reached, `write` takes only as much
   * as there is room for, and `onDrain` is called when half of the room is free. Default 256 KiB.
   */
  writeLimit?: number;
  /**
   * How many milliseconds promises of callbacks may take after the client has sent its last byte. The time starts again
   * whenever data is sent. When it is over, `onError` is called, and the connection is closed. Default 30,000.
   */
  endTimeoutMs?: number;
  /**
   * Whether other processes that also set this option may listen on the same port. Not available on Windows. Default
   * false.
   */
  reusePort?: boolean;
  /**
   * Whether SIGINT and SIGTERM close the server, as its method `stopOnSignals()` does; an object has the options of that
   * method. Default false.
   */
  stopOnSignals?: boolean | DrainOptions;
}

/** Checked options. */
export interface ServerPlan {
  readonly bufferLimit: number;
  readonly writeLimit: number;
  readonly endTimeoutMs: number;
  readonly reusePort: boolean | undefined;
  readonly stopOnSignals: boolean | DrainOptions | undefined;
}

/** @throws {TypeError} naming every problem */
export function parseServer(options: unknown): ServerPlan {
  const problems: string[] = [];
  const root = options === undefined ? NOTHING : readObject(options, 'options', KEYS, problems);
  const number = (name: keyof typeof LIMITS) => {
    const { byDefault, ...range } = LIMITS[name];
    return readNumber(root[name], `options.${name}`, range, problems) ?? byDefault;
  };
  readDrainOnSignals(root['stopOnSignals'], problems);
  const plan = {
    bufferLimit: number('bufferLimit'),
    writeLimit: number('writeLimit'),
    endTimeoutMs: number('endTimeoutMs'),
    reusePort: readFlag(root['reusePort'], 'options.reusePort', problems),
    stopOnSignals: root['stopOnSignals'] as boolean | DrainOptions | undefined,
  };
  refuse(problems);
  return plan;
}

/** @throws {TypeError} naming every problem */
export function checkListen(port: unknown, host: unknown): void {
  const problems: string[] = [];
  if (port === undefined) problems.push("argument 'port' is required");
  readNumber(port, "argument 'port'", PORTS, problems);
  if (typeof host !== 'string' || host === '' || host.includes('\0')) {
    problems.push(`argument 'host' must be a name or an address, not ${shown(host)}`);
  }
  refuse(problems);
}

/** @throws {TypeError} naming each callback that is not a function */
export function checkCallbacks(callbacks: Readonly<Record<string, unknown>>): void {
  const problems = Object.entries(callbacks)
    .filter(([, callback]) => callback !== null && callback !== undefined && typeof callback !== 'function')
    .map(([name, callback]) => `property '${name}' must be a function or null, not ${shown(callback)}`);
  refuse(problems);
}

/** @throws {TypeError} if it is not a valid maximum */
export function checkMax(max: unknown): void {
  const problems: string[] = [];
  readNumber(max, "argument 'max'", { least: 1, most: Number.MAX_SAFE_INTEGER }, problems);
  refuse(problems);
}

/** @throws {TypeError} if it is not data that can be written */
export function checkData(data: unknown): asserts data is string | Bytes {
  if (typeof data === 'string' || ArrayBuffer.isView(data) || data instanceof ArrayBuffer) return;
  throw new TypeError(`argument 'data' must be a string, an ArrayBuffer or a view of one, not ${shown(data)}`);
}

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw new TypeError(problems.join('; '));
}

const LIMITS = {
  bufferLimit: { least: 1, most: 2 ** 28, byDefault: 1024 * 1024 },
  writeLimit: { least: 4096, most: 1024 * 1024, byDefault: 256 * 1024 },
  endTimeoutMs: { least: 1, most: 86_400_000, byDefault: 30_000 },
} as const;
const KEYS = [...Object.keys(LIMITS), 'reusePort', 'stopOnSignals'];
const PORTS = { least: 0, most: 65_535 };
