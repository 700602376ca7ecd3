#!/usr/bin/env node
/** The command line `millrace`: runs a command and turns its result into an exit code. */

import '../addon/floor.js';

import { VERSION } from '../addon/addon.js';
import { UsageError } from './arguments.js';
import { bench } from './bench.js';
import { BENCH_HELP, HELP, INIT_HELP, SERVE_HELP, SPLICE_HELP } from './help.js';
import { init } from './init.js';
import { serve } from './serve.js';
import { splice } from './splice-command.js';
import { line } from './terminal.js';

/** A command. Resolves with the exit code. */
interface Command {
  help: string;
  run(args: string[]): Promise<number>;
}

const COMMANDS = new Map<string, Command>([
  ['init', { help: INIT_HELP, run: init }],
  ['serve', { help: SERVE_HELP, run: serve }],
  ['splice', { help: SPLICE_HELP, run: splice }],
  ['bench', { help: BENCH_HELP, run: bench }],
]);

async function main(args: string[]): Promise<number> {
  const [name, ...rest] = args;
  const command = name === undefined ? undefined : COMMANDS.get(name);
  if (command !== undefined) {
    const help = asksForHelp(rest);
    if (help) line(process.stdout, command.help);
    return help ? OK : command.run(rest);
  }
  if (name === '--help' || name === '-h' || name === 'help') {
    line(process.stdout, COMMANDS.get(rest[0] ?? '')?.help ?? HELP);
    return OK;
  }
  if (name === '--version' || name === '-v') {
    line(process.stdout, VERSION);
    return OK;
  }
  const problem = name === undefined ? 'a command is missing' : `unknown ${readable(name)}`;
  throw new UsageError(`${problem}: it is init, serve, splice, bench, --help or --version`);
}

/** Whether help was requested before `--`, whatever the other arguments are. */
function asksForHelp(args: string[]): boolean {
  const end = args.indexOf('--');
  return (end < 0 ? args : args.slice(0, end)).some((arg) => arg === '--help' || arg === '-h');
}

function readable(name: string): string {
  return name.startsWith('-') ? `option ${name}` : `command ${name}`;
}

const OK = 0;
const FAILED = 1;
const WRONG_USAGE = 2;

// output of workers goes through these streams, too: a closed pipe must not end a server that is draining
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    if (error instanceof UsageError) {
      line(process.stderr, `millrace: ${error.message}`);
      process.exitCode = WRONG_USAGE;
      return;
    }
    line(process.stderr, `millrace: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    process.exitCode = FAILED;
  },
);
