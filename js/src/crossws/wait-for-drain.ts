/** Waits until little is queued for a peer, as `waitForDrain` of crossws does. Sends nothing. */

import type { WaitForDrainOptions } from 'crossws' with { 'resolution-mode': 'import' };

/** What is known of a peer's outbox. */
export interface Outbox {
  /** Whether the peer is neither closing nor closed. */
  isOpen(): boolean;
  /** The bytes that are queued for the peer: 0 up to 16 KiB, and without what its I/O thread has not taken yet. */
  queued(): number;
  /** Resolves when the I/O thread has taken what was sent before and little of it is left. False: the peer has left. */
  drained(signal: AbortSignal): Promise<boolean>;
}

/**
 * Resolves when at most `threshold` bytes are queued, or when the peer is no longer open. It always asks the I/O thread: a
 * loop that sends and waits would otherwise never leave the thread's turn, and what it sends would not be taken.
 */
export function untilBelow(outbox: Outbox, options: WaitForDrainOptions = {}): Promise<void> {
  const { threshold = 0, pollInterval = 100, signal } = options;
  if (!outbox.isOpen()) return Promise.resolve();
  if (signal?.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    const over = new AbortController();
    let isAnswered = false;
    const settle = (act: () => void): void => {
      if (over.signal.aborted) return;
      clearInterval(timer);
      signal?.removeEventListener('abort', aborted);
      over.abort();
      act();
    };
    const aborted = (): void => settle(() => reject(signal?.reason));
    const look = (): void => {
      const queued = outbox.queued();
      // without an answer, 0 may mean that nothing was taken yet
      const isBelow = queued <= threshold && (isAnswered || queued > 0);
      if (isBelow || !outbox.isOpen()) settle(resolve);
    };
    const timer = setInterval(look, pollInterval);
    timer.unref?.();
    signal?.addEventListener('abort', aborted, { once: true });
    outbox.drained(over.signal).then(
      (isOpen) => {
        isAnswered = true;
        if (isOpen) look();
        else settle(resolve);
      },
      (error: unknown) => settle(() => reject(error)),
    );
  });
}
