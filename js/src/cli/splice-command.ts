/**
 * `millrace splice`: a splice multiplexer with the options of wsplice. Parses these; `createSplice` implements them.
 */

import { statSync } from 'node:fs';
import path from 'node:path';

import { VERSION } from '../addon/addon.js';
import { choice } from '../options/fields.js';
import type { Range } from '../options/limit-values.js';
import { SPLICE_RANGES } from '../options/limits.generated.js';
import { GATEWAY_RANGES } from '../options/limits.js';
import type { SpliceEventName } from '../protocols/listeners.js';
import { isLocal } from '../protocols/splice-protocol.js';
import { hostsOf, type SpliceListener, type SpliceServerOptions } from '../splice/splice-options.js';
import { createSplice } from '../splice/splice-server.js';
import { bytesOf, millisecondsOf } from '../splice/units.js';
import { type Given, lastOf, type OptionTable, readArguments, seeHelp, UsageError } from './arguments.js';
import { addConfig, type Units } from './config.js';
import { readAddresses, readOrigins } from './listening.js';
import { runUntilSignal } from './running.js';
import { line } from './terminal.js';

/** Runs the command until a signal ends it. Resolves with the exit code. */
export async function splice(args: string[]): Promise<number> {
  const given = readGiven(args);
  if (given.flags.has('version')) {
    line(process.stdout, VERSION);
    return OK;
  }
  const options = readSpliceOptions(given);
  if (given.values.has('pprof-address')) {
    line(process.stderr, 'millrace: splice: --pprof-address has no effect: there is no Go program to profile');
  }
  return runUntilSignal(createSplice(options), options.tls === undefined ? 'ws' : 'wss');
}

/** The options of the command line, then those of the file. */
function readGiven(args: string[]): Given {
  const given = readArguments('splice', args, TABLE);
  const [extra] = given.positionals;
  if (extra !== undefined) throw new UsageError(`splice: unexpected argument ${extra}${seeHelp('splice')}`);
  for (const name of SWITCHES) {
    if ((given.flags.has(name) || given.values.has(name)) && given.flags.has(`no-${name}`)) {
      throw new UsageError(`splice: --${name} and --no-${name} exclude each other`);
    }
  }
  const file = lastOf(given, 'config');
  if (file !== undefined) addConfig('splice', given, file, FILE_TABLE, UNITS);
  return given;
}

/** @throws {UsageError} naming the wrong option */
function readSpliceOptions(given: Given): SpliceServerOptions {
  const allowedHostnames = readHosts(given);
  const options: SpliceServerOptions = {
    bind: readListeners(given, allowedHostnames.length > 0),
    allowedHostnames,
    origins: readOrigins('splice', given.values.get('origin')),
    frameSizeLimit: measureOf(given, 'frame-size-limit', SPLICE_RANGES.controlBytes, bytesOf) ?? 5 * 1024 * 1024,
    writeTimeout: measureOf(given, 'write-timeout', GATEWAY_RANGES.writeTimeoutMs, millisecondsOf) ?? 5_000,
    dialTimeout: measureOf(given, 'dial-timeout', SPLICE_RANGES.dialTimeoutMs, millisecondsOf) ?? 10_000,
    binary: given.flags.has('binary'),
    eventName: wordOf(given, 'event-name', EVENT_NAMES) ?? 'onSocketDisconnect',
    metrics: readMetrics(given),
  };
  // checked, but without effect: idle connections stay open, as in wsplice
  measureOf(given, 'read-timeout', { least: 0, most: Number.MAX_SAFE_INTEGER }, millisecondsOf);
  const tls = readTls(given);
  if (tls !== undefined) options.tls = tls;
  return options;
}

function readHosts(given: Given): string[] {
  const texts = given.values.get('allowed-hostnames') ?? [];
  // an empty environment variable must not allow every host
  if (texts.some((text) => hostsOf(text).length === 0)) {
    throw new UsageError('splice: --allowed-hostnames must name a host');
  }
  return texts.flatMap(hostsOf);
}

/** The listeners. On a loopback address and without a list of hosts, every host may be reached, as in wsplice. */
function readListeners(given: Given, isListed: boolean): SpliceListener[] {
  const network = wordOf(given, 'network', NETWORKS) ?? 'tcp';
  const usual = network === 'tcp6' ? '[::1]:3000' : '127.0.0.1:3000';
  const addresses = readAddresses('splice', 'listen', given.values.get('listen') ?? [usual]);
  const anyTarget = switchOf(given, 'any-target');
  const privateTargets = switchOf(given, 'private-targets');
  return addresses.map((text) => {
    const address = network === 'tcp6' ? ipv6Of(text) : text;
    const local = isLocal(address);
    if (!(local || isListed || anyTarget)) {
      throw new UsageError(
        `splice: others can reach ${text}: list hosts by --allowed-hostnames, or let every client reach any host by --any-target`,
      );
    }
    return { address, anyTarget: anyTarget ?? local, privateTargets: privateTargets ?? (local && !isListed) };
  });
}

/** An address in the form of IPv6. */
function ipv6Of(address: string): string {
  if (address.startsWith('[') || address.startsWith('unix:')) return address;
  if (address.startsWith(':')) return `[::]${address}`;
  if (address.startsWith('localhost:')) return address.replace('localhost', '[::1]');
  throw new UsageError(
    `splice: --listen must be an address of IPv6 with --network tcp6, not ${JSON.stringify(address)}`,
  );
}

function readTls(given: Given): { cert: string; key: string; ca?: string } | undefined {
  const [cert, key, ca] = ['tls-cert', 'tls-key', 'tls-ca'].map((name) => fileOf(given, name));
  if (cert === undefined && key === undefined && ca === undefined) return undefined;
  if (cert === undefined || key === undefined) {
    throw new UsageError('splice: TLS needs --tls-cert and --tls-key');
  }
  return ca === undefined ? { cert, key } : { cert, key, ca };
}

/** The full path of an existing file or pipe. */
function fileOf(given: Given, name: string): string | undefined {
  const file = lastOf(given, name);
  if (file === undefined) return undefined;
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined || found.isDirectory()) throw new UsageError(`splice: --${name}: there is no file ${file}`);
  return path.resolve(file);
}

function readMetrics(given: Given): boolean | string {
  const where = lastOf(given, 'metrics');
  if (where === undefined) return given.flags.has('metrics');
  if (/^\/[\x21-\x7e]*$/.test(where) && !/[?#]/.test(where)) return where;
  throw new UsageError(`splice: --metrics must be a path such as /metrics, not ${JSON.stringify(where)}`);
}

/** A switch with a `no-` form. Undefined: neither was given. */
function switchOf({ flags }: Given, name: string): boolean | undefined {
  return flags.has(name) || (flags.has(`no-${name}`) ? false : undefined);
}

function wordOf<Word extends string>(given: Given, name: string, words: readonly Word[]): Word | undefined {
  const text = lastOf(given, name);
  const word = words.find((known) => known === text);
  if (word !== undefined || text === undefined) return word;
  throw new UsageError(`splice: --${name} must be ${choice(words)}, not ${JSON.stringify(text)}`);
}

/** The value of a text with units. */
function measureOf(
  given: Given,
  name: string,
  { least, most }: Range,
  parse: (text: string) => number | undefined,
): number | undefined {
  const text = lastOf(given, name);
  if (text === undefined) return undefined;
  const number = parse(text);
  if (number !== undefined && number >= least && number <= most) return number;
  const [form, unit] = parse === bytesOf ? ['a size such as 5MB', 'bytes'] : ['a time such as 5s', 'ms'];
  throw new UsageError(
    `splice: --${name} must be ${form}, from ${least} to ${most} ${unit}, not ${JSON.stringify(text)}`,
  );
}

const NETWORKS = ['tcp', 'tcp6'] as const;
const EVENT_NAMES: readonly SpliceEventName[] = ['onSocketDisconnect', 'onSocketClosed'];
const SWITCHES = ['any-target', 'private-targets', 'binary', 'metrics'];

/** The options that a file may have, too. */
const FILE_TABLE: OptionTable = {
  listen: 'text',
  network: 'text',
  'allowed-hostnames': 'text',
  'pprof-address': 'text',
  'tls-cert': 'text',
  'tls-key': 'text',
  'tls-ca': 'text',
  'frame-size-limit': 'text',
  'write-timeout': 'text',
  'read-timeout': 'text',
  'dial-timeout': 'text',
  'event-name': 'text',
  'any-target': 'flag',
  'private-targets': 'flag',
  origin: 'text',
  binary: 'flag',
  metrics: 'either',
};

const TABLE: OptionTable = {
  ...FILE_TABLE,
  ...Object.fromEntries(SWITCHES.map((name) => [`no-${name}`, 'flag' as const])),
  config: 'text',
  version: 'flag',
};

/** The units of numbers in `createSplice`. */
const UNITS: Units = {
  'frame-size-limit': 'B',
  'write-timeout': 'ms',
  'read-timeout': 'ms',
  'dial-timeout': 'ms',
};

const OK = 0;
