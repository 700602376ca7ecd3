/**
 * Reads options of a command from a JSON file, as if they were given on the command line. Owns the file's form; knows
 * no option.
 */

import { readFileSync } from 'node:fs';
import { shown } from '../options/fields.js';
import { type Given, type OptionTable, UsageError } from './arguments.js';

/** The unit of a number, for options that have one. */
export type Units = Readonly<Record<string, string>>;

/**
 * Adds the options of a file. Options on the command line take precedence.
 *
 * @param table the options that the file may have; those of `'flag'` and `'either'` may be true or false, and false
 *   stands for the option with `no-`
 * @throws {UsageError} naming everything that is wrong with the file
 */
export function addConfig(command: string, given: Given, file: string, table: OptionTable, units: Units): void {
  const problems: string[] = [];
  for (const [name, value] of Object.entries(readConfig(command, file))) {
    const kind = Object.hasOwn(table, name) ? table[name] : undefined;
    if (kind === undefined) {
      problems.push(`unknown option ${JSON.stringify(name)}`);
    } else if (kind !== 'text' && typeof value === 'boolean') {
      if (!isGiven(given, name)) given.flags.add(value ? name : `no-${name}`);
    } else {
      const texts = kind === 'flag' ? undefined : textsOf(value, units[name]);
      if (texts === undefined) problems.push(`${JSON.stringify(name)} must be ${formOf(kind)}, not ${shown(value)}`);
      else if (!isGiven(given, name)) given.values.set(name, texts);
    }
  }
  if (problems.length > 0) throw new UsageError(`${command}: ${file}: ${problems.join('; ')}`);
}

function readConfig(command: string, file: string): object {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`${command}: ${file} cannot be read: ${firstLine(error)}`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new UsageError(`${command}: ${file} is not valid JSON: ${firstLine(error)}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new UsageError(`${command}: ${file} must have an object, not ${shown(value)}`);
}

/** Whether the command line has an option. */
function isGiven({ values, flags }: Given, name: string): boolean {
  return values.has(name) || flags.has(name) || flags.has(`no-${name}`);
}

/** A text, several texts, or a number of units, as texts. */
function textsOf(value: unknown, unit: string | undefined): string[] | undefined {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number') return unit === undefined ? undefined : [`${value}${unit}`];
  return Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string') ? value : undefined;
}

function formOf(kind: 'text' | 'flag' | 'either'): string {
  if (kind === 'flag') return 'true or false';
  return kind === 'text' ? 'a text' : 'a text, true or false';
}

function firstLine(error: unknown): string {
  return String((error as Error).message).split('\n', 1)[0] ?? '';
}
