/**
 * Starts and stops a gateway: its native side, workers and listeners, in order. If a step fails, everything before it
 * is undone. Owns what is running. Lives on the thread that calls `start`.
 */

import { binding } from '../addon/binding.js';
import type { DialFailed, NativeGateway, Notice } from '../addon/native-interface.js';
import { type ErrorCode, MillraceError } from '../errors.js';
import { Log, type LogPlan } from '../log/log.js';
import { print, workerFailure } from '../log/report.js';
import { identityOf, loadBackplane, type NativeBackplane } from '../options/backplane.js';
import { OWN_LIMITS } from '../options/limits.js';
import { AT_ONCE, type StopPlan } from '../options/server-options.js';
import { type GatewayPlan, type ListenerPlan, parseStartOptions, type StartPlan } from '../options/start-options.js';
import { loadTls, type TlsPlan } from '../options/tls.js';
import type { WorkerPlan } from '../options/worker-options.js';
import type { WorkerGateway } from '../worker/dispatch.js';
import { Host } from '../worker/host.js';
import type { WorkerData } from '../worker/messages.js';
import { Slot } from '../worker/slot.js';
import { Dials } from './dials.js';
import { watchInspector } from './inspector.js';
import { type Stop, Stops } from './stops.js';

/** What one call of `start` has started. */
export interface Begun {
  addresses: string[];
  listeners: number[];
  /** The TLS options of those listeners that speak TLS. */
  tls: Map<number, TlsPlan>;
  /** Its stop, once that has begun. */
  stop?: Stop;
}

/** The gateway that a supervisor starts and stops. */
export interface SupervisedGateway extends WorkerGateway {
  flushReplies(): void;
}

/** See the module. */
export class Supervisor {
  readonly #native: NativeGateway;
  readonly #gateway: SupervisedGateway;
  readonly #id: number;
  readonly #stops: Stops;
  readonly #dials: Dials;
  #slots: Slot[] = [];
  #hosts: Host[] = [];
  /** The options that the first call fixed. Undefined while the gateway does not run. */
  #fixed: Fixed | undefined;
  /** Calls whose listeners are up or being started. */
  #users = 0;
  /** Calls of `start` run one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  #ending: Promise<void> | undefined;
  #whenStopped: (() => void) | undefined;
  readonly #whenLinked = new Set<() => void>();

  constructor(native: NativeGateway, gateway: SupervisedGateway, id: number) {
    this.#native = native;
    this.#dials = new Dials(native);
    this.#stops = new Stops(native);
    this.#gateway = gateway;
    this.#id = id;
  }

  /** Runs one call of `start`, after the calls before it. `attached`: its listener gets the connections of a server. */
  begin(options: unknown, attached = false): Promise<Begun> {
    const begun = this.#last.then(() => this.#begin(options, attached));
    this.#last = begun.catch(() => undefined);
    return begun;
  }

  /** Undoes one call of `start`. The last one ends the gateway. */
  async finish(begun: Begun, plan: StopPlan): Promise<void> {
    // what a handler on this thread has sent goes out before connections are closed
    this.#gateway.flushReplies();
    this.#fixed?.log?.write('info', 'millrace::listener', 'stopping', { addresses: begun.addresses.join(', ') });
    begun.stop = this.#stops.begin(begun.listeners, plan);
    await begun.stop.stopped;
    await this.#leave();
  }

  /**
   * Replaces the workers by new ones that import their module again, one after the other, until `signal` is aborted.
   *
   * @throws {MillraceError} ERR_MILLRACE_WORKER_FAILED if one cannot be started: it and those after it stay;
   *   ERR_MILLRACE_NOT_RUNNING if no worker has a thread of its own, or if they are stopped before all are replaced
   */
  replaceWorkers(signal?: AbortSignal): Promise<void> {
    const replaced = this.#last.then(async () => {
      signal?.throwIfAborted();
      const ms = timeToStop(this.#fixed);
      if (this.#slots.length === 0) {
        throw new MillraceError('ERR_MILLRACE_NOT_RUNNING', 'there is no worker with a thread of its own');
      }
      for (const slot of [...this.#slots]) await slot.renew(ms, signal);
    });
    this.#last = replaced.catch(() => undefined);
    return replaced;
  }

  /**
   * Reads the TLS files of one call's listeners again. `plan`, if given, replaces their options.
   *
   * @throws {MillraceError} ERR_MILLRACE_INVALID_TLS, if something does not work: everything stays as it was; also where
   *   no listener speaks TLS
   */
  async reloadTls(begun: Begun, plan: TlsPlan | undefined): Promise<void> {
    if (begun.tls.size === 0) {
      throw new MillraceError('ERR_MILLRACE_INVALID_TLS', 'no listener of this server speaks TLS: nothing to reload');
    }
    const plans = [...begun.tls].map(([id, own]) => ({ id, plan: plan ?? own }));
    const listeners = await Promise.all(plans.map(async (one) => ({ id: one.id, tls: await loadTls(one.plan) })));
    this.#native.reloadTls(listeners);
    for (const { id, plan: used } of plans) begun.tls.set(id, used);
    this.#fixed?.log?.write('info', 'millrace::listener', 'TLS reloaded', { listeners: listeners.length });
  }

  async #begin(options: unknown, attached: boolean): Promise<Begun> {
    await this.#ending;
    const plan = parseStartOptions(options, this.#fixed === undefined, attached);
    const arg = plan.workers === undefined ? undefined : structuredClone(plan.workers.arg);
    const listeners = await Promise.all(plan.listeners.map(readFiles));
    const backplane = plan.backplane && (await loadBackplane(plan.backplane));
    this.#users += 1;
    const begun: Begun = { addresses: [], listeners: [], tls: new Map() };
    const slots: Slot[] = [];
    const hosts: Host[] = [];
    try {
      const fixed = await this.#startNative(plan, backplane);
      if (plan.backplane !== undefined) await this.#waitForLink(plan.backplane.waitMs);
      if (plan.workers !== undefined) await this.#startWorkers({ ...plan.workers, arg }, fixed, slots, hosts);
      for (const { plan, config } of listeners) {
        const listening = this.#native.listen(config);
        begun.listeners.push(listening.id);
        if (plan !== undefined) begun.tls.set(listening.id, plan);
        if (!attached) begun.addresses.push(listening.address);
        fixed.log?.write('info', 'millrace::listener', 'listening', { address: listening.address || 'attached' });
      }
      return begun;
    } catch (error) {
      await this.#stops.begin(begun.listeners, AT_ONCE).stopped;
      this.#slots = this.#slots.filter((slot) => !slots.includes(slot));
      this.#hosts = this.#hosts.filter((host) => !hosts.includes(host));
      for (const host of hosts) host.abandon();
      await Promise.all(slots.map((slot) => slot.abandon()));
      await this.#leave();
      throw error;
    }
  }

  async #startNative(plan: StartPlan, backplane: NativeBackplane | undefined): Promise<Fixed> {
    const fixed = this.#fixed;
    if (fixed === undefined) return this.#startFirst(plan, backplane);
    if (plan.backplane !== undefined && identityOf(plan.backplane) !== fixed.backplane)
      throw alreadyStarted('backplane');
    if (plan.onError !== undefined && plan.onError !== fixed.onError) throw alreadyStarted('onError');
    if (plan.log.onLog !== undefined && plan.log.onLog !== fixed.asked.onLog) throw alreadyStarted('onLog');
    if (plan.log.level !== undefined && plan.log.level !== fixed.asked.level) throw alreadyStarted('logLevel');
    if (plan.handlerTimeoutMs !== undefined && plan.handlerTimeoutMs !== fixed.handlerTimeoutMs) {
      throw alreadyStarted('limits.handlerTimeoutMs');
    }
    if (plan.workerStartTimeoutMs !== undefined && plan.workerStartTimeoutMs !== fixed.workerStartTimeoutMs) {
      throw alreadyStarted('limits.workerStartTimeoutMs');
    }
    for (const [name, value] of Object.entries(plan.gateway)) {
      if (name in fixed.gateway && JSON.stringify(fixed.gateway[name]) !== JSON.stringify(value)) {
        throw alreadyStarted(['ioThreads', 'ioUring', 'channels'].includes(name) ? name : `limits.${name}`);
      }
    }
    // the native side knows the defaults, so it compares the options that the first call left out
    this.#native.start({ ...fixed.gateway, ...plan.gateway }, () => this.#onNotice());
    return fixed;
  }

  async #startFirst(plan: StartPlan, backplane: NativeBackplane | undefined): Promise<Fixed> {
    if (this.#native.isRunning()) {
      throw new MillraceError('ERR_MILLRACE_ALREADY_STARTED', 'another thread has started this gateway');
    }
    // handlers on the calling thread share it with the application, which may keep it busy
    const onThisThread = plan.workers?.threads === 0;
    const gateway: GatewayPlan = onThisThread ? { workerTimeoutMs: 0, ...plan.gateway } : plan.gateway;
    const handlerTimeoutMs = plan.handlerTimeoutMs ?? OWN_LIMITS.handlerTimeoutMs;
    const workerStartTimeoutMs = plan.workerStartTimeoutMs ?? OWN_LIMITS.workerStartTimeoutMs;
    const log = Log.open(this.#native, plan.log);
    try {
      await this.#startShards({ ...gateway, ...(backplane !== undefined && { backplane }) });
    } catch (error) {
      // this ends the log, too
      this.#native.ended();
      throw error;
    }
    const unwatch = watchInspector((attached) => this.#native.suspendLiveness(attached));
    const own = { handlerTimeoutMs, workerStartTimeoutMs };
    const identity = plan.backplane && identityOf(plan.backplane);
    this.#fixed = { gateway, backplane: identity, ...own, onError: plan.onError, unwatch, log, asked: plan.log };
    log?.write('info', 'millrace::gateway', 'started', { gateway: this.#id });
    return this.#fixed;
  }

  /** After a thread has ended, the gateway may still be shutting down for a moment. */
  async #startShards(gateway: Record<string, unknown>): Promise<void> {
    const deadline = performance.now() + SHUTDOWN_MS;
    for (;;) {
      // notices of an earlier run that another thread started
      this.#native.takeNotices();
      try {
        this.#native.start(gateway, () => this.#onNotice());
        return;
      } catch (error) {
        if ((error as MillraceError).code !== 'ERR_MILLRACE_SHUTTING_DOWN' || performance.now() > deadline) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Waits at most `ms` for the link to other nodes. */
  async #waitForLink(ms: number): Promise<void> {
    const deadline = performance.now() + ms;
    while (ms > 0 && this.#native.stats().backplane?.state !== 'ready') {
      const left = deadline - performance.now();
      if (left <= 0) {
        throw new MillraceError('ERR_MILLRACE_BACKPLANE_LOST', `there was no link to the other nodes within ${ms} ms`);
      }
      let timer: NodeJS.Timeout | undefined;
      const ready = new Promise<void>((resolve) => this.#whenLinked.add(resolve));
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, left);
      });
      await Promise.race([ready, late]);
      clearTimeout(timer);
    }
  }

  /** Starts the first worker alone, so that a broken module fails once, then the others in parallel. */
  async #startWorkers(plan: WorkerPlan, fixed: Fixed, slots: Slot[], hosts: Host[]): Promise<void> {
    const { module, arg } = plan;
    const { handlerTimeoutMs } = fixed;
    const report = (error: MillraceError): void => this.#report(error);
    if (plan.threads === 0 || typeof module !== 'string') {
      const native = this.#native;
      const host = await Host.start({ native, gateway: this.#gateway, module, arg, handlerTimeoutMs, report }).catch(
        (cause: unknown) => {
          throw workerFailure(cause);
        },
      );
      hosts.push(host);
      this.#hosts.push(host);
      return;
    }
    const { state, file } = binding();
    const data: WorkerData = {
      millrace: true,
      native: { state, file },
      gateway: this.#id,
      module,
      arg,
      handlerTimeoutMs,
    };
    for (let index = 0; index < plan.threads; index += 1) {
      slots.push(new Slot(data, fixed.workerStartTimeoutMs, report, fixed.log));
    }
    this.#slots.push(...slots);
    await slots[0]?.open();
    await Promise.all(slots.slice(1).map((slot) => slot.open()));
  }

  /** Connects to a peer. Calls `failed` if that fails. `stopListeners` with the returned id closes the connection. */
  dial(config: Record<string, unknown>, failed: (failure: DialFailed) => void): number {
    return this.#dials.begin(config, failed);
  }

  /** Stops listeners, or closes connections that were dialled, by their ids. */
  stopListeners(ids: number[], drainMs: number): Promise<void> {
    this.#dials.forget(ids);
    return this.#stops.begin(ids, { ...AT_ONCE, drainMs }).stopped;
  }

  async #leave(): Promise<void> {
    this.#users -= 1;
    if (this.#users > 0 || this.#fixed === undefined) return;
    this.#ending = this.#end(this.#fixed);
    await this.#ending;
    this.#ending = undefined;
  }

  async #end(fixed: Fixed): Promise<void> {
    fixed.unwatch();
    // the slots stay registered, so that a worker that does not answer is still ended
    const slots = this.#slots;
    const hosts = this.#hosts.splice(0);
    const ms = timeToStop(fixed);
    await Promise.all([...slots.map((slot) => slot.stop(ms)), ...hosts.map((host) => host.stop(ms))]);
    this.#slots = [];
    const stopped = new Promise<void>((resolve) => {
      this.#whenStopped = resolve;
    });
    this.#native.shutdown();
    await stopped;
    fixed.log?.write('info', 'millrace::gateway', 'stopped', { gateway: this.#id });
    this.#native.ended();
    this.#fixed = undefined;
  }

  #onNotice(): void {
    for (const notice of this.#native.takeNotices()) this.#heed(notice);
  }

  #heed(notice: Notice): void {
    switch (notice.kind) {
      case 'listenersStopped':
        this.#stops.ended(notice.ticket);
        break;
      case 'stopped':
        this.#whenStopped?.();
        this.#whenStopped = undefined;
        break;
      case 'backplaneReady':
        for (const resolve of this.#whenLinked) resolve();
        this.#whenLinked.clear();
        break;
      case 'dialFailed':
        this.#dials.failed(notice);
        break;
      case 'workerUnresponsive':
        this.#slots.find((slot) => slot.holds(notice.worker))?.replace(notice.worker, notice.ms);
        break;
      case 'error':
        this.#report(new MillraceError(notice.code, notice.message));
        break;
    }
  }

  #report(error: MillraceError): void {
    const { onError, log } = this.#fixed ?? {};
    this.#native.countError();
    // if both would be printed, print the error once
    if (onError !== undefined || log?.isPrinted === false) {
      log?.write(BOUNDS_MET.has(error.code) ? 'warn' : 'error', 'millrace::report', error.message, {
        code: error.code,
      });
    }
    if (onError === undefined) return print(error);
    try {
      onError(error);
    } catch (thrown) {
      print(error);
      print(new MillraceError('ERR_MILLRACE_HANDLER_FAILED', 'onError failed', { cause: thrown }));
    }
  }
}

/** A listener's plan in the form of the native side, with the contents of its TLS files. */
async function readFiles({
  tls,
  ...rest
}: ListenerPlan): Promise<{ plan: TlsPlan | undefined; config: Record<string, unknown> }> {
  return { plan: tls, config: { ...rest, tls: tls && (await loadTls(tls)) } };
}

/** Time for I/O threads to end before another start gives up. */
const SHUTDOWN_MS = 5_000;

/** The options that the first call of `start` fixed. */
interface Fixed {
  gateway: GatewayPlan;
  /** The same text for the same options. */
  backplane: string | undefined;
  handlerTimeoutMs: number;
  workerStartTimeoutMs: number;
  onError: ((error: MillraceError) => void) | undefined;
  unwatch: () => void;
  log: Log | undefined;
  /** The log options as they were given, for comparison. */
  asked: LogPlan;
}

/** Time for a worker to handle the events that wait, in milliseconds. */
function timeToStop(fixed: Fixed | undefined): number {
  return fixed === undefined || fixed.handlerTimeoutMs === 0 ? OWN_LIMITS.handlerTimeoutMs : fixed.handlerTimeoutMs;
}

/** Errors that report a limit that was reached. All others are failures. */
const BOUNDS_MET: ReadonlySet<ErrorCode> = new Set([
  'ERR_MILLRACE_ACCEPT_FAILED',
  'ERR_MILLRACE_BACKPLANE_DROPPED',
  'ERR_MILLRACE_HANDLER_TIMEOUT',
  'ERR_MILLRACE_INBOX_FULL',
  'ERR_MILLRACE_NOT_AN_OBJECT',
]);

function alreadyStarted(option: string): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_ALREADY_STARTED',
    `options.${option} is fixed by the first start of a gateway, which runs with another value`,
  );
}
