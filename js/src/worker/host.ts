/**
 * The life of a worker within its thread: it loads the module and calls `handleStart`, the events' handlers and
 * `handleStop`. Does not know the supervisor.
 */

import type { NativeGateway } from '../addon/native-interface.js';
import { ownWorkerData } from '../addon/runtime.js';
import { MillraceError } from '../errors.js';
import { readable } from '../log/report.js';
import { Dispatcher, type WorkerGateway } from './dispatch.js';
import { importWorkerModule, type LoadedModule, readWorkerModule } from './module.js';

/** What a worker is started with. */
export interface HostPlan {
  native: NativeGateway;
  gateway: WorkerGateway;
  /** The worker module's URL, or the module itself. */
  module: string | object;
  arg: unknown;
  handlerTimeoutMs: number;
  report(error: MillraceError): void;
}

/** A worker that takes connections. */
export class Host {
  readonly #module: LoadedModule;
  readonly #dispatcher: Dispatcher;
  readonly #report: (error: MillraceError) => void;

  /**
   * Starts a worker on this thread. Resolves when it takes connections.
   *
   * @throws whatever the module or its `handleStart` throws
   */
  static async start(plan: HostPlan): Promise<Host> {
    const module =
      typeof plan.module === 'string'
        ? await importWorkerModule(plan.module)
        : readWorkerModule(plan.module, 'options.handlers');
    const { handleStart, message } = module;
    if (message !== undefined) {
      await message.ready();
      if (ownWorkerData() !== undefined) outliveErrors(plan.report);
    }
    await handleStart?.(plan.arg, plan.gateway);
    return new Host(module, plan);
  }

  private constructor(module: LoadedModule, plan: HostPlan) {
    this.#module = module;
    this.#report = plan.report;
    this.#dispatcher = new Dispatcher(plan.native, plan.gateway, module, plan.handlerTimeoutMs, plan.report);
    this.#dispatcher.activate();
  }

  /** The worker's id. */
  get id(): number {
    return this.#dispatcher.id;
  }

  /**
   * Handles all waiting events, calls `handleStop` and ends, with at most `ms` for each of these. `leave`: see
   * `Dispatcher`.
   */
  async stop(ms: number, leave = false): Promise<void> {
    if (leave) this.#dispatcher.leave();
    await this.#dispatcher.settle(ms);
    this.#dispatcher.end();
    const { handleStop } = this.#module;
    if (handleStop === undefined) return;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not finished after ${ms} ms`)), ms);
    });
    try {
      await Promise.race([handleStop(), late]);
    } catch (cause) {
      const message = `handleStop failed: ${readable(cause)}`;
      this.#report(new MillraceError('ERR_MILLRACE_HANDLER_FAILED', message, { cause }));
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends the worker at once. */
  abandon(): void {
    this.#dispatcher.end();
  }
}

/**
 * Reports errors that a Node listener throws outside of its calls, in a timer for example. They must not end the
 * thread, which has other requests and sockets. The request that such an error belongs to is ended by its deadline.
 */
function outliveErrors(report: (error: MillraceError) => void): void {
  const tell = (cause: unknown): void => {
    const message = `a callback of the request listener failed: ${readable(cause)}`;
    report(new MillraceError('ERR_MILLRACE_HANDLER_FAILED', message, { cause }));
  };
  process.on('uncaughtException', tell);
  process.on('unhandledRejection', tell);
}
