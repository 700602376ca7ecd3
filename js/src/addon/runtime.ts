/**
 * What differs between Node.js, Bun and Deno, and what has to be made sure of in each. The only file that knows;
 * docs/runtimes.md lists what cannot be hidden. Owns no state.
 */

import { fileURLToPath } from 'node:url';
import { workerData } from 'node:worker_threads';
import { MillraceError } from '../errors.js';
import type { WorkerData } from '../worker/messages.js';
import type { Binding, NativeState } from './native-interface.js';

/** What this thread was started with, if it is a worker of Millrace: also for other copies of the package. */
export function ownWorkerData(): WorkerData | undefined {
  const data = workerData as Partial<WorkerData> | null | undefined;
  return data?.millrace === true ? (data as WorkerData) : undefined;
}

/**
 * The addon for this thread. In a worker it is loaded by the path that the starting thread has it from, past the module
 * cache: runtimes were seen to give workers the stale module object of an addon that is already loaded. A second copy of
 * the package that a worker module brings along gets the same. What comes out must have the starting thread's native
 * state: in any other image of the addon there is no socket and no channel of ours.
 *
 * @throws {MillraceError} ERR_MILLRACE_BINDING_FOREIGN, and what `find` throws
 */
export function addonOfThread(find: () => Binding): Binding {
  const main = ownWorkerData()?.native;
  if (main === undefined) return find();
  const same = loadByPath(main.file);
  if (isOfThisThread(same) && haveOneState(same, main)) return same;
  const found = find();
  if (haveOneState(found, main)) return found;
  throw new MillraceError(
    'ERR_MILLRACE_BINDING_FOREIGN',
    `this worker got another native addon than the thread that started it (${main.file}): its file was replaced ` +
      'while the process ran, or the package is installed twice. Restart the process, or remove one of the two',
  );
}

/** Addons of other builds may have none to tell. */
function haveOneState(one: Partial<NativeState>, other: Partial<NativeState>): boolean {
  return hasState(one) && one.state === other.state;
}

/** Whether an addon tells its native state. */
export function hasState({ state }: Partial<NativeState>): boolean {
  return typeof state === 'string' && state !== '';
}

/** Whether making a `Response` costs about as much as the rest of answering a request: Node.js writes its own in JavaScript. */
export function hasCostlyResponse(): boolean {
  return process.versions['bun'] === undefined && process.versions['deno'] === undefined;
}

/**
 * Whether a call from another thread may be queued and wake nobody. Deno's event loop looks whether something was queued
 * before it registers what is to be woken: docs/runtimes.md.
 */
export function losesWakeUps(): boolean {
  return process.versions['deno'] !== undefined;
}

/**
 * Whether buffers whose memory is not the runtime's own are collected late: V8 counts them, but looks at the count only where
 * it allocates memory of others, and ten times as much may be garbage.
 */
export function collectsLate(): boolean {
  return process.versions['bun'] === undefined;
}

/** Whether a rejection that nobody handles ends the program without having been an uncaught exception, as in Bun. */
export function dropsRejections(): boolean {
  return process.versions['bun'] !== undefined;
}

/** Whether an error that is thrown again is shown with the place where that was done alone, as in Bun. */
export function showsLastThrow(): boolean {
  return process.versions['bun'] !== undefined;
}

function loadByPath(url: string): unknown {
  try {
    const filename = fileURLToPath(url);
    const fresh = { exports: {}, filename };
    process.dlopen(fresh, filename);
    return fresh.exports;
  } catch {
    return undefined;
  }
}

/** Whether these are the addon's exports, and made for this thread. */
export function isOfThisThread(value: unknown): value is Binding {
  const addon = value as Partial<Binding> | null | undefined;
  return typeof addon?.isOfThisThread === 'function' && addon.isOfThisThread() === true;
}

/** Whether the runtime exists for glibc alone, as Deno does, which asks for a permission to look what there is. */
export function needsGlibc(): boolean {
  return process.versions['deno'] !== undefined;
}

/** Why an addon's file may not be loaded and how to mend that; undefined: nothing forbids it. */
export function whyForbidden(file: string): string | undefined {
  const { Deno: deno } = globalThis as { Deno?: DenoPermissions };
  const state = deno?.permissions.querySync({ name: 'ffi', path: file }).state ?? 'granted';
  if (state === 'granted') return undefined;
  return `Deno must be allowed to load it: deno run --allow-ffi=${file}`;
}

/** Whether a debugger may hold threads still. Bun does not tell, so there the answer is always no. */
export function inspectorIsOpen(): boolean {
  try {
    const inspector: { url(): string | undefined } = require('node:inspector');
    return typeof inspector.url() === 'string';
  } catch {
    return false;
  }
}

/** A variable of the environment that is not empty. Deno asks its user before it answers, and nobody should be asked. */
export function environmentVariable(name: string): string | undefined {
  const { Deno: deno } = globalThis as { Deno?: DenoPermissions };
  if (deno !== undefined && deno.permissions.querySync({ name: 'env', variable: name }).state !== 'granted') {
    return undefined;
  }
  return process.env[name] || undefined;
}

interface DenoPermissions {
  permissions: {
    querySync(wanted: { name: 'env'; variable: string } | { name: 'ffi'; path: string }): { state: string };
  };
}
