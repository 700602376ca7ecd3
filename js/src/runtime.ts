/**
 * What differs between Node.js, Bun and Deno, and what has to be made sure of in each. The only file that knows;
 * docs/runtimes.md lists what cannot be hidden. Owns no state.
 */

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { workerData } from 'node:worker_threads';
import type { Binding } from './binding.js';
import { MillraceError } from './errors.js';
import type { WorkerData } from './worker/messages.js';

/** Which native state a thread has: that of one loaded image of the addon. */
export interface NativeState {
  /** Differs between two images in one process. */
  state: string;
  /** The addon's file, as a URL; empty where the runtime does not tell. */
  file: string;
}

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
  if (isOfThisThread(same) && same.state === main.state) return same;
  const found = find();
  if (found.state === main.state) return found;
  throw new MillraceError(
    'ERR_MILLRACE_BINDING_FOREIGN',
    `this worker got another native addon than the thread that started it (${main.file}): its file was replaced ` +
      'while the process ran, or the package is installed twice. Restart the process, or remove one of the two',
  );
}

function loadByPath(url: string): unknown {
  const fresh = { exports: {} };
  try {
    process.dlopen(fresh, fileURLToPath(url));
  } catch {
    return undefined;
  }
  return fresh.exports;
}

/** Whether these are the addon's exports, and made for this thread. */
export function isOfThisThread(value: unknown): value is Binding {
  const addon = value as Partial<Binding> | null | undefined;
  return typeof addon?.isOfThisThread === 'function' && addon.isOfThisThread();
}

/** Whether a debugger may hold threads still. Bun does not tell, so there the answer is always no. */
export function inspectorIsOpen(): boolean {
  try {
    const inspector = createRequire(__filename)('node:inspector') as { url(): string | undefined };
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
  permissions: { querySync(wanted: { name: 'env'; variable: string }): { state: string } };
}
