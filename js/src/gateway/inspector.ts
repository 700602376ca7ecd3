/** Watches whether a debugger is attached, which may hold threads still. Suspends nothing itself. */

import { inspectorIsOpen } from '../addon/runtime.js';

/**
 * Calls `change` now and whenever the inspector is opened or closed, until the returned function is called. In a
 * runtime without an inspector, it is never open.
 */
export function watchInspector(change: (attached: boolean) => void): () => void {
  let before = false;
  const look = (): void => {
    const now = inspectorIsOpen();
    if (now !== before) change(now);
    before = now;
  };
  look();
  const timer = setInterval(look, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

const LOOK_MS = 1_000;
