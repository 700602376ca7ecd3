/**
 * The log: levels, filters, and the way of lines to `onLog` or the standard error output. Does not decide what is
 * logged.
 */

import type { NativeGateway } from '../addon/native-interface.js';
import { environmentVariable } from '../addon/runtime.js';
import { MillraceError } from '../errors.js';
import type { LogLevel, LogLine } from './log-line.js';
import { write } from './output.js';
import { print } from './report.js';

/** A filter's rule: targets that begin with `prefix` are logged up to `level`. */
export interface LogRule {
  prefix: string;
  level: LogLevel;
}

/** The levels, each of which includes those before it. */
export const LOG_LEVELS: readonly LogLevel[] = ['off', 'error', 'warn', 'info', 'debug', 'trace'];

/**
 * Parses `"debug"`, `"warn,millrace::connection=debug"` or any list of such rules. With `bareTargets`, a target without
 * a level is logged completely, as Rust programs read `RUST_LOG`.
 */
export function parseLogRules(text: string, bareTargets: boolean): { rules: LogRule[]; problems: string[] } {
  const rules: LogRule[] = [];
  const problems: string[] = [];
  for (const part of text.split(',').map((rule) => rule.trim())) {
    if (part === '') continue;
    const [before = '', after] = part.split('=', 2).map((word) => word.trim());
    const level = levelOf(after ?? before);
    if (level !== undefined) rules.push({ prefix: after === undefined ? '' : before, level });
    else if (after === undefined && bareTargets) rules.push({ prefix: before, level: 'trace' });
    else problems.push(JSON.stringify(part));
  }
  return { rules, problems };
}

/** What `start` logs, and where the lines go. */
export interface LogPlan {
  onLog: ((line: LogLine) => void) | undefined;
  level: string | undefined;
}

/** An open log. */
export class Log {
  readonly #rules: LogRule[];
  readonly #onLog: (line: LogLine) => void;
  readonly #native: NativeGateway;
  #failed = false;

  /**
   * Opens the log that the options ask for, or `RUST_LOG`, which takes precedence. Undefined: nothing is logged. I/O
   * threads that start later log, too.
   */
  static open(native: NativeGateway, { onLog, level }: LogPlan): Log | undefined {
    const wanted = environmentVariable('RUST_LOG');
    if (onLog === undefined && level === undefined && wanted === undefined) return undefined;
    const rules = wanted === undefined ? parseLogRules(level ?? DEFAULT_LEVEL, false).rules : fromEnvironment(wanted);
    return new Log(native, rules, onLog ?? printLine);
  }

  private constructor(native: NativeGateway, rules: LogRule[], onLog: (line: LogLine) => void) {
    // the rule with the longest matching prefix applies
    this.#rules = rules.toSorted((a, b) => b.prefix.length - a.prefix.length);
    this.#onLog = onLog;
    this.#native = native;
    const filter = rules.flatMap(({ prefix, level }) => [prefix, LOG_LEVELS.indexOf(level)]);
    native.openLog(filter, () => this.flush());
  }

  /** Whether log lines are printed to the standard error output, where errors are printed, too. */
  get isPrinted(): boolean {
    return this.#onLog === printLine;
  }

  /** Logs one line of this thread, after the native side's lines so far. */
  write(level: LogLine['level'], target: string, message: string, fields: LogLine['fields'] = {}): void {
    const rule = this.#rules.find(({ prefix }) => target.startsWith(prefix));
    if (rule === undefined || LOG_LEVELS.indexOf(level) > LOG_LEVELS.indexOf(rule.level)) return;
    this.flush();
    this.#tell({ time: Date.now(), level, target, message, fields });
  }

  /** Passes the native side's lines on. */
  flush(): void {
    const { lines, dropped } = this.#native.takeLog();
    for (const line of lines) this.#tell(line);
    if (dropped === 0) return;
    this.#tell({
      time: Date.now(),
      level: 'warn',
      target: 'millrace::log',
      message: 'too many lines, some were dropped',
      fields: { dropped },
    });
  }

  #tell(line: LogLine): void {
    try {
      this.#onLog(line);
    } catch (cause) {
      if (!this.#failed) print(new MillraceError('ERR_MILLRACE_HANDLER_FAILED', 'onLog failed', { cause }));
      this.#failed = true;
    }
  }
}

/** Formats a line for people, without a line feed, and with colours on request. */
export function formatLine({ time, level, target, message, fields }: LogLine, colour: boolean): string {
  const stamp = new Date(time).toISOString();
  const pairs = Object.entries(fields).map(([name, value]) => ` ${name}=${shown(value)}`);
  const name = level.toUpperCase().padStart(5);
  if (!colour) return `${stamp} ${name} ${target}: ${message}${pairs.join('')}`;
  return `\x1b[2m${stamp}\x1b[0m \x1b[${COLOURS[level]}m${name}\x1b[0m \x1b[2m${target}:\x1b[0m ${message}\x1b[2m${pairs.join('')}\x1b[0m`;
}

/**
 * Whether output to a stream should have colours: it is a terminal, and `NO_COLOR` is not set (https://no-color.org).
 */
export function wantsColour(stream: { isTTY?: boolean }): boolean {
  return stream.isTTY === true && environmentVariable('NO_COLOR') === undefined;
}

/** Writes a line to the standard error output. */
export function printLine(line: LogLine): void {
  write(process.stderr, `${formatLine(line, wantsColour(process.stderr))}\n`);
}

function levelOf(word: string): LogLevel | undefined {
  return LOG_LEVELS.find((level) => level === word.toLowerCase());
}

function fromEnvironment(text: string): LogRule[] {
  const { rules, problems } = parseLogRules(text, true);
  if (problems.length > 0) {
    const levels = LOG_LEVELS.join(', ');
    write(process.stderr, `millrace: RUST_LOG: ${problems.join(', ')} is ignored; the levels are ${levels}\n`);
  }
  return rules;
}

/**
 * A value of a field. Simple words stay unchanged; everything else is quoted, so that a value cannot look like another
 * line.
 */
function shown(value: string | number | boolean): string {
  return typeof value === 'string' && !/^[\w.:/[\]@+-]+$/.test(value) ? JSON.stringify(value) : String(value);
}

/** The level if `onLog` is given without `logLevel`. */
const DEFAULT_LEVEL: LogLevel = 'info';

const COLOURS: Record<LogLine['level'], number> = { error: 31, warn: 33, info: 32, debug: 34, trace: 35 };
