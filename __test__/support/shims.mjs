// A machine without some of the optional tools: a PATH with only one folder of small programs. Each starts the real
// program with the real PATH, or, for tests of the look-up alone, only succeeds.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { TOOLS, toolPath } from '../../scripts/optional-tools.mjs';

/** What a pretended program says. */
const PRETENDED = {
  'nats-server': 'nats-server: v2.9.10',
  'nats-server-current': 'nats-server: v2.11.10',
};

/** The same for all others. */
const OTHERS_PRETEND = 'Redis server v=7.0.15, with HTTP2';

/** Shell commands that hide a part of a program. */
const PARTS = {
  'redis-server of 7.0 or newer': () => '[ "$1" = --version ] && echo "Redis server v=6.0.16" && exit',
  'redis-server of 7.0': () => '[ "$1" = --version ] && echo "Redis server v=7.4.0" && exit',
  'nats-server of 2.9.20 or older': () => '[ "$1" = --version ] && echo "nats-server: v2.9.21" && exit',
  'python3 with redis': (folder) => withoutModule('redis', folder),
  'python3 with prometheus_client': (folder) => withoutModule('prometheus_client', folder),
  'cargo-deny': () => '[ "$1" = deny ] && exit 101',
};

/**
 * Writes the programs; returns the environment of that machine.
 *
 * @param {(keyof typeof TOOLS)[]} hidden
 * @param {string} folder an empty one
 * @param {{pretended?: boolean}} options pretended: it has every other tool; otherwise those of this machine
 */
export function machineWithout(hidden, folder, { pretended = false } = {}) {
  for (const [program, names] of Object.entries(namesByProgram())) {
    const real = names.map((name) => toolPath(name)).find((file) => file !== undefined);
    const parts = names.filter((name) => hidden.includes(name)).map((name) => PARTS[name]?.(folder));
    if (parts.includes(undefined) || (real === undefined && !pretended)) continue;
    const says = PRETENDED[program] ?? OTHERS_PRETEND;
    const runs = pretended ? `echo '${says}'` : `PATH='${process.env.PATH}' exec '${real}' "$@"`;
    writeFileSync(path.join(folder, program), ['#!/bin/sh', ...parts, runs, ''].join('\n'), { mode: 0o755 });
  }
  const named = ['MILLRACE_REQUIRE_ALL', ...Object.values(TOOLS).map(({ variable }) => variable)];
  const kept = Object.entries(process.env).filter(([name]) => !named.includes(name));
  return { ...Object.fromEntries(kept), PATH: folder };
}

/** The first program of a tool, with all tools that it provides. */
function namesByProgram() {
  const result = {};
  for (const [name, { programs = [name] }] of Object.entries(TOOLS)) {
    result[programs[0]] = [...(result[programs[0]] ?? []), name];
  }
  return result;
}

/** A module with the same name that takes precedence over the real one, and cannot be imported. */
function withoutModule(name, folder) {
  const modules = path.join(folder, `without-${name}`);
  mkdirSync(modules);
  writeFileSync(path.join(modules, `${name}.py`), `raise ImportError('${name} is hidden')\n`);
  return `[ "$2" = "import ${name}" ] && exit 1; export PYTHONPATH="${modules}:$PYTHONPATH"`;
}
