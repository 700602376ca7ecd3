/**
 * The differences between Node.js, Bun and Deno, and how each is handled. No other file depends on the runtime.
 * docs/runtimes.md lists the differences that remain visible. Has no state.
 */

import { fileURLToPath } from 'node:url';
import { workerData } from 'node:worker_threads';
import { MillraceError } from '../errors.js';
import type { WorkerData } from '../worker/messages.js';
import type { Binding, NativeState } from './native-interface.js';

/**
 * The data that this thread was started with, if it is a worker of Millrace. Other copies of the package get the same.
 */
export function ownWorkerData(): WorkerData | undefined {
  const data = workerData as Partial<WorkerData> | null | undefined;
  return data?.millrace === true ? (data as WorkerData) : undefined;
}

/**
 * Returns the addon for this thread. A worker loads it from the path that the starting thread uses, without the module
 * cache, because some runtimes give workers the module object of another thread for an addon that is already loaded. A
 * second copy of the package in the worker module gets the same addon. The result must share the starting thread's
 * native state: another image of the addon has none of its sockets and channels.
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

/** Whether two addons share their state. An addon of another build may not report its state. */
function haveOneState(one: Partial<NativeState>, other: Partial<NativeState>): boolean {
  return hasState(one) && one.state === other.state;
}

/** Whether an addon reports its native state. */
export function hasState({ state }: Partial<NativeState>): boolean {
  return typeof state === 'string' && state !== '';
}

/** Whether an `import` failed because of a syntax error. Bun's parser has an error class of its own. */
export function isSyntaxError(error: unknown): boolean {
  return error instanceof SyntaxError || (error as Partial<Error> | null | undefined)?.name === 'BuildMessage';
}

/**
 * Whether creating a `Response` costs about as much as the rest of answering a request. In Node.js it does, because the
 * class is written in JavaScript.
 */
export function hasCostlyResponse(): boolean {
  return process.versions['bun'] === undefined && process.versions['deno'] === undefined;
}

/**
 * Whether a `Response` neither knows that its body is a text nor gives it back without a stream. In Bun it does not, and
 * only `Bun.serve` adds the type.
 */
export function hasUntypedResponse(): boolean {
  return process.versions['bun'] !== undefined;
}

/**
 * Whether a call from another thread may be queued without waking this one. Deno's event loop checks for queued calls
 * before it registers its waker: docs/runtimes.md.
 */
export function losesWakeUps(): boolean {
  return process.versions['deno'] !== undefined;
}

/**
 * The version of libuv, if it runs the event loop. Bun and Deno name a version, too, but have a loop of their own, and
 * their functions of libuv are not made for other threads.
 */
export function libuvVersion(): string | undefined {
  const { bun, deno, node, uv } = process.versions as Partial<Record<string, string>>;
  return bun === undefined && deno === undefined && node !== undefined ? uv : undefined;
}

/**
 * Whether external buffers are collected late. V8 counts their memory, but checks the count only when it allocates
 * external memory itself, so that ten times as much may be garbage.
 */
export function collectsLate(): boolean {
  return process.versions['bun'] === undefined;
}

/**
 * Why connections of `node:http` cannot be taken over. Undefined: they can. Only sockets of Node.js on a Unix system have a
 * descriptor.
 */
export function whyNoDescriptors(): string | undefined {
  for (const name of ['bun', 'deno']) {
    if (process.versions[name] !== undefined) return `sockets of ${name === 'bun' ? 'Bun' : 'Deno'} have no descriptor`;
  }
  return process.platform === 'win32' ? 'sockets on Windows cannot be duplicated' : undefined;
}

/** Whether an unhandled rejection ends the program without an event `uncaughtException`, as in Bun. */
export function dropsRejections(): boolean {
  return process.versions['bun'] !== undefined;
}

/** Whether an error that is thrown again shows only the place where that was done, as in Bun. */
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

/** Whether a value is the addon's exports, made for this thread. */
export function isOfThisThread(value: unknown): value is Binding {
  const addon = value as Partial<Binding> | null | undefined;
  return typeof addon?.isOfThisThread === 'function' && addon.isOfThisThread() === true;
}

/**
 * Whether the runtime exists only for glibc, as Deno does, which also asks for a permission before it looks for musl.
 */
export function needsGlibc(): boolean {
  return process.versions['deno'] !== undefined;
}

/** Why an addon's file may not be loaded, and how to allow that. Undefined: it is allowed. */
export function whyForbidden(file: string): string | undefined {
  const { Deno: deno } = globalThis as { Deno?: DenoPermissions };
  const state = deno?.permissions.querySync({ name: 'ffi', path: file }).state ?? 'granted';
  if (state === 'granted') return undefined;
  return `Deno must be allowed to load it: deno run --allow-ffi=${file}`;
}

/** Whether a debugger may hold threads still. Bun does not tell, so there the answer is always false. */
export function inspectorIsOpen(): boolean {
  try {
    const inspector: { url(): string | undefined } = require('node:inspector');
    return typeof inspector.url() === 'string';
  } catch {
    return false;
  }
}

/**
 * An environment variable that is set and not empty. In Deno, the variable counts as missing without a permission,
 * because asking would prompt the user.
 */
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
