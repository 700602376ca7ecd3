/** Calls hooks: those of the adapter first, then those of the connection. Handles no errors. */

import type { Hooks, ResolveHooks } from 'crossws' with { 'resolution-mode': 'import' };

/** A value or a promise of one. */
export type Maybe<T> = T | PromiseLike<T>;

/** What headers are made of. */
export type HeadersLike = ConstructorParameters<typeof Headers>[0];

/** A request with the context that hooks and the peer share. */
export type RequestWithContext = Request & { context: Record<string, unknown> };

/** See the module. */
export class HookCalls {
  readonly #hooks: Partial<Hooks> | undefined;
  readonly #resolve: ResolveHooks | undefined;

  constructor(hooks: Partial<Hooks> | undefined, resolve: ResolveHooks | undefined) {
    this.#hooks = hooks;
    this.#resolve = resolve;
  }

  /** Whether a connection may have this hook. */
  mayHave(name: keyof Hooks): boolean {
    return this.#resolve !== undefined || this.#hooks?.[name] !== undefined;
  }

  /** The hooks of a connection's own. */
  resolve(request: RequestWithContext): Maybe<Partial<Hooks> | undefined> {
    return this.#resolve?.(request);
  }

  /**
   * Calls a hook. The connection's own hook is called when a promise of the adapter's hook is settled. Its result counts
   * unless it is falsy.
   */
  call<N extends keyof Hooks>(name: N, own: Partial<Hooks> | undefined, ...given: Parameters<Hooks[N]>): unknown {
    const first = call(this.#hooks, name, given);
    const hook = own?.[name];
    if (hook === undefined) return first;
    return after(first, (result) => after(call(own, name, given), (last) => last || result));
  }
}

/** Goes on with a value at once, or with that of a promise when it is there. */
export function after<T, R>(value: Maybe<T>, next: (value: T) => Maybe<R>): Maybe<R> {
  return isPromise(value) ? value.then(next) : next(value);
}

/** Whether a value is a promise or another thenable. */
export function isPromise<T>(value: Maybe<T> | undefined): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | undefined | null)?.then === 'function';
}

function call(hooks: Partial<Hooks> | undefined, name: keyof Hooks, given: readonly unknown[]): unknown {
  return (hooks?.[name] as ((...given: unknown[]) => unknown) | undefined)?.apply(hooks, given as unknown[]);
}
