/** Whether a debugger may hold threads still. Owns the looking; suspends nothing itself. */

import { inspectorIsOpen } from '../addon/runtime.js';

/**
 * Tells `change` now and whenever the inspector is opened or closed, until the returned function is called. Where
 * the runtime has no inspector, it is never open.
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
