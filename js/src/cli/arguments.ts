/** Parses a command's options with `util.parseArgs`, and reports what is wrong with them in one line. */

import { parseArgs } from 'node:util';

/** A mistake of the user: it is printed in one line, and the exit code is 2. */
export class UsageError extends Error {}

/** The options of a command, and whether each takes a value. `'either'` takes one only after `=`. */
export type OptionTable = Record<string, 'text' | 'flag' | 'either'>;

/** The given options and arguments. */
export interface Given {
  positionals: string[];
  /** All values of each option, in order. */
  values: Map<string, string[]>;
  /** Options that were given without a value. */
  flags: Set<string>;
}

/** @throws {UsageError} at the first argument that is invalid */
export function readArguments(command: string, args: string[], table: OptionTable): Given {
  const given: Given = { positionals: [], values: new Map(), flags: new Set() };
  const options = Object.fromEntries(
    Object.entries(table).map(([name, kind]) => [
      name,
      { type: kind === 'text' ? ('string' as const) : ('boolean' as const) },
    ]),
  );
  // not strict, so that the error messages are our own and the same in every runtime
  const { tokens } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
  for (const token of tokens) {
    if (token.kind === 'positional') given.positionals.push(token.value);
    if (token.kind !== 'option') continue;
    const kind = table[token.name];
    if (kind === undefined) throw new UsageError(`${command}: unknown option ${token.rawName}${seeHelp(command)}`);
    if (kind === 'flag' || (kind === 'either' && token.value === undefined)) {
      if (token.value !== undefined) throw new UsageError(`${command}: ${token.rawName} takes no value`);
      given.flags.add(token.name);
    } else if (token.value === undefined || (!token.inlineValue && /^-./.test(token.value))) {
      throw new UsageError(`${command}: ${token.rawName} needs a value`);
    } else {
      given.values.set(token.name, [...(given.values.get(token.name) ?? []), token.value]);
    }
  }
  return given;
}

/** The hint at the command's help. */
export function seeHelp(command: string): string {
  return ` (see millrace ${command} --help)`;
}

/** The last value of an option. */
export function lastOf(given: Given, name: string): string | undefined {
  return given.values.get(name)?.at(-1);
}

/** @throws {UsageError} unless the option's last value is a whole number in the range */
export function wholeOf(command: string, given: Given, name: string, least: number, most: number): number | undefined {
  const text = lastOf(given, name);
  if (text === undefined) return undefined;
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw new UsageError(
    `${command}: --${name} must be a whole number from ${least} to ${most}, not ${JSON.stringify(text)}`,
  );
}
