// Checks the commands on the pages: their files, scripts and options must exist. Of other programs only the names are
// checked.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { ROOT } from './markdown.mjs';

/** How sources read environment variables. */
const OURS = [
  ...[
    'js/src',
    'scripts',
    '__test__/support',
    '__test__/v1',
    '__test__/presence',
    '__test__/workers',
    'crates/backplane/tests',
    'examples',
    'benchmark/runner',
  ],
  '.ci',
];

/** Programs that the pages may use without naming their source. */
const FOREIGN = 'apt-get cd curl docker export git go mkdir nc nginx pip redis-cli rustup systemctl'.split(' ');

/** Output of earlier commands: builds, bundles, and the compiled programs of docs/bundlers.md. */
const MADE = /^(target|dist|\.next)\/|^\.\/chat$/;

export class CommandCheck {
  #package;
  #steps;
  #crates;
  #ours;

  static async create() {
    const check = new CommandCheck();
    check.#package = JSON.parse(read('package.json'));
    check.#steps = words(read('scripts/test.mjs'), /name: '[\w-]+'|groups: \[[^\]]*\]/g);
    check.#crates = readdirSync(path.join(ROOT, 'crates')).map((name) => `millrace-${name}`);
    check.#crates.push('millrace-load');
    check.#ours = OURS.flatMap(sourcesIn).map(read).join('\n');
    return check;
  }

  /**
   * The problems of a block of commands.
   *
   * @param {string} code
   * @param {(string | undefined)[]} files that the page tells the reader to write
   * @returns {string[]}
   */
  problems(code, files) {
    return commandsOf(code).flatMap((command) => {
      const [program, ...args] = command.words;
      const found = command.variables
        .filter((name) => name.startsWith('MILLRACE_') && !this.#ours.includes(name))
        .map((name) => `nothing reads ${name}`);
      const problem = program === undefined ? undefined : this.#problem(program, args, files);
      return [...found, ...(problem === undefined ? [] : [`${command.words.join(' ')}: ${problem}`])];
    });
  }

  #problem(program, args, files) {
    if (program === 'npm') return this.#npm(args);
    if (program === 'npx') return this.#npx(args);
    if (program === 'cargo') return this.#cargo(args);
    if (['node', 'bun', 'deno'].includes(program)) return this.#script(args, files);
    if (program === 'millrace') return this.#npx([program, ...args]);
    if (MADE.test(program)) return undefined;
    if (program.startsWith('.')) return existsSync(path.join(ROOT, program)) ? undefined : 'no such file';
    return FOREIGN.includes(program) ? undefined : `unknown program; known are ${FOREIGN.join(', ')}`;
  }

  #npm([command, ...args]) {
    const known = ['ci', 'install', 'init', 'login', 'pack'];
    if (known.includes(command)) return undefined;
    const script = command === 'run' ? args[0] : command;
    if (this.#package.scripts[script] === undefined) return `no script ${script}`;
    if (script !== 'test' || !args.includes('--')) return undefined;
    const unknown = args.slice(args.indexOf('--') + 1).filter((name) => !this.#steps.includes(name));
    return unknown.length > 0 ? `no step ${unknown.join(', ')}` : undefined;
  }

  #npx([program, ...args]) {
    if (program === 'millrace') {
      const help = read('js/src/cli/help.ts');
      const [command] = args;
      if (!new RegExp(`^ {2}${command}\\b|Usage: millrace ${command}\\b|${command},? `, 'm').test(help))
        return `no command ${command}`;
      return this.#options(args, help);
    }
    const own = program in this.#package.devDependencies || existsSync(path.join(ROOT, 'node_modules/.bin', program));
    return own ? undefined : `${program} is not among the packages of this repository`;
  }

  #cargo(args) {
    const [command, ...rest] = args.filter((arg) => !arg.startsWith('+'));
    if (command === 'xtask') return /"(tidy|generate)"/.test(`"${rest[0]}"`) ? undefined : `no task ${rest[0]}`;
    if (command === 'fuzz') {
      return existsSync(path.join(ROOT, `fuzz/fuzz_targets/${rest[1]}.rs`)) ? undefined : `no target ${rest[1]}`;
    }
    const crates = rest.flatMap((arg, at) => (arg === '-p' ? [rest[at + 1]] : []));
    const unknown = crates.filter((name) => !this.#crates.includes(name));
    return unknown.length > 0 ? `no crate ${unknown.join(', ')}` : undefined;
  }

  #script(args, files) {
    const at = args.findIndex((arg) => /^[^-].*\.[mc]?[jt]s$/.test(arg));
    if (at === -1) return args.some((arg) => arg.startsWith('-')) ? undefined : 'runs no script';
    const script = args[at];
    if (files.includes(script) || MADE.test(script)) return undefined;
    if (!existsSync(path.join(ROOT, script))) return 'no such script, neither on the page nor in the repository';
    return this.#options(args.slice(at + 1), read(script));
  }

  /** Long options must occur in the source that reads them, with their dashes or as a property. */
  #options(args, source) {
    const names = args.filter((arg) => arg.startsWith('--') && arg !== '--').map((arg) => arg.slice(2).split('=')[0]);
    const unknown = names.filter((name) => !new RegExp(`(--|\\b)${name}\\b`).test(source));
    return unknown.length > 0 ? `nothing reads --${unknown.join(', --')}` : undefined;
  }
}

/** The simple commands of a block, without comments: `{words, variables}`. */
function commandsOf(code) {
  const text = code.replaceAll(/\\\n/g, ' ').replaceAll(/(^|\s)#.*$/gm, '');
  return text
    .split(/\n|&&|\|\|?|;|&(?!\d)/)
    .map((command) => (command.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? []).filter((word) => !/^\d?[<>]/.test(word)))
    .map((all) => (all[0] === 'sudo' ? all.slice(1) : all))
    .map((all) => {
      const first = all.findIndex((word) => !/^\w+=/.test(word));
      const end = first === -1 ? all.length : first;
      return { words: all.slice(end), variables: all.slice(0, end).map((word) => word.split('=')[0]) };
    });
}

/** The files of a folder and of those in it. */
function sourcesIn(folder) {
  const entries = readdirSync(path.join(ROOT, folder), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && /(^run|\.([mc]?[jt]s|rs))$/.test(entry.name));
  return files.map((entry) => path.relative(ROOT, path.join(entry.parentPath, entry.name)));
}

function read(file) {
  return readFileSync(path.join(ROOT, file), 'utf8');
}

/** Every quoted word in the matches. */
function words(text, pattern) {
  return [...text.matchAll(pattern)].flatMap(([found]) => [...found.matchAll(/'([\w-]+)'/g)].map(([, word]) => word));
}
