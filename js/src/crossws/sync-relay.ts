/** The option `sync`: relays publications to other instances of crossws. Reports failures, and throws none. */

import type { AdapterOptions, SyncDriver, SyncMessage } from 'crossws' with { 'resolution-mode': 'import' };

/**
 * Starts the driver, if there is one. `deliver` is called with what other instances publish, `fail` with errors if there
 * is no `onError`.
 */
export function startRelay(
  options: AdapterOptions,
  deliver: (message: SyncMessage) => void,
  fail: (error: unknown, stage: string) => void,
): SyncDriver | undefined {
  const { sync, onError } = options;
  if (sync === undefined) return undefined;
  const report = (stage: 'subscribe' | 'publish' | 'delivery', error: unknown): void => {
    if (onError !== undefined) onError(error, { stage });
    else fail(error, stage);
  };
  const guarded = async (stage: 'subscribe' | 'publish', act: () => unknown): Promise<void> => {
    try {
      await act();
    } catch (error) {
      report(stage, error);
    }
  };
  const driver = sync({ id: crypto.randomUUID() });
  const received = (message: SyncMessage): void => {
    try {
      deliver(message);
    } catch (error) {
      report('delivery', error);
    }
  };
  void guarded('subscribe', () => driver.subscribe(received));
  return {
    subscribe: (other) => driver.subscribe(other),
    publish: (message) => guarded('publish', () => driver.publish(message)),
    ...(driver.close === undefined ? {} : { close: () => driver.close?.() }),
  };
}
