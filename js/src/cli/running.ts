/**
 * A server that runs in a terminal: the lines that say where it listens, and the signals that stop it. Knows no
 * options.
 */

import { MillraceError } from '../errors.js';
import { ENDING_SIGNALS } from '../gateway/signals.js';
import { print, readable } from '../log/report.js';
import { bold, line } from './terminal.js';

/** A server that runs. */
export interface Running {
  addresses: string[];
  stop(): Promise<void>;
}

/**
 * Runs a server until a signal ends it. Ends the process, or resolves with the exit code if the server could not start.
 * `over` is called when it no longer runs.
 *
 * @param starting the result of `start`; a signal before it resolves has its effect, too
 */
export async function runUntilSignal(
  starting: Promise<Running>,
  scheme: 'ws' | 'wss',
  over: () => void = () => {},
): Promise<number> {
  const signals = stopOnSignal(starting);
  let server: Running;
  try {
    server = await starting;
  } catch (error) {
    over();
    signals.forget();
    if (error instanceof MillraceError) print(error);
    else line(process.stderr, `millrace: ${readable(error)}`);
    return FAILED;
  }
  // programs that wait for these lines take the server for ready
  for (const address of signals.came() ? [] : server.addresses) {
    const url = address.startsWith('unix:') ? address : `${scheme}://${address}`;
    line(process.stdout, `Listening on ${bold(process.stdout, url)}`);
  }
  const code = await signals.stopped.then(
    () => OK,
    (error: unknown) => {
      line(process.stderr, `millrace: ${readable(error)}`);
      return FAILED;
    },
  );
  over();
  // not every runtime ends on its own while there are listeners for signals, or after a stop that failed
  process.exit(code);
}

/** The effect of signals. */
interface Signals {
  /** Whether a signal arrived. */
  came(): boolean;
  /** Resolves when the server has stopped. Does not settle if the server cannot start. */
  stopped: Promise<void>;
  /** Removes the listeners, so that signals have their default effect again. */
  forget(): void;
}

/** The first signal stops the server once it has started; the second one ends the process. */
function stopOnSignal(starting: Promise<Running>): Signals {
  const heeded: [NodeJS.Signals, () => void][] = [];
  let stopping = false;
  const stopped = new Promise<void>((resolve, reject) => {
    for (const [signal, code] of ENDING_SIGNALS) {
      const heed = (): void => {
        if (stopping) process.exit(code);
        stopping = true;
        line(process.stdout, 'Stopping');
        // the caller reports a start that fails
        starting.then((server) => server.stop().then(resolve, reject)).catch(() => undefined);
      };
      heeded.push([signal, heed]);
      process.on(signal, heed);
    }
  });
  return {
    came: () => stopping,
    stopped,
    forget() {
      for (const [signal, heed] of heeded) process.off(signal, heed);
    },
  };
}

const OK = 0;
const FAILED = 1;
