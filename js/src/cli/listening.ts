/** Options of commands that listen: addresses and origins. Opens no listener. */

import { isAddress } from '../options/start-options.js';
import type { Origins } from '../protocols/listeners.js';
import { UsageError } from './arguments.js';

/** @throws {UsageError} unless all of them are addresses */
export function readAddresses(command: string, name: string, addresses: string[]): string[] {
  const wrong = addresses.find((address) => !isAddress(address));
  if (wrong === undefined) return addresses;
  const forms = 'ip:port, [ipv6]:port, localhost:port, :port or unix:/path';
  throw new UsageError(`${command}: --${name} must be ${forms}, not ${JSON.stringify(wrong)}`);
}

/** @throws {UsageError} if these are not origins; the default is `same-host` */
export function readOrigins(command: string, origins: string[] = ['same-host']): Origins {
  const [first] = origins;
  if (origins.length === 1 && (first === '*' || first === 'same-host')) return first;
  const wrong = origins.find((origin) => !/^[a-z][a-z0-9+.-]*:\/\/[^/\s?#]+$/i.test(origin));
  if (wrong === undefined) return origins;
  throw new UsageError(
    `${command}: --origin must be 'same-host', '*' or such as https://example.org, not ${JSON.stringify(wrong)}`,
  );
}
