/** A server's life in the terminal: what is said when it listens, and the signals that stop it. Knows no options. */

import { MillraceError } from '../errors.js';
import { ENDING_SIGNALS } from '../gateway/signals.js';
import { print, readable } from '../log/report.js';
import { bold, line } from './terminal.js';

/** What runs. */
export interface Running {
  addresses: string[];
  stop(): Promise<void>;
}

/**
 * Runs until a signal ends it; `over` is called when it does not run any more. Ends the process, or resolves to the exit code
 * if it did not start.
 *
 * @param starting what `start` returned; a signal meanwhile is heeded, too
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
  // who waits for these lines takes it for up
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
  // not every runtime ends by itself while it listens for signals, nor what did not stop
  process.exit(code);
}

/** What signals do. */
interface Signals {
  /** Whether there was one. */
  came(): boolean;
  /** Resolves when the server has stopped; not at all if it does not start. */
  stopped: Promise<void>;
  /** Leaves signals to the system again. */
  forget(): void;
}

/** The first signal stops the server, once it has started; the second one ends the process. */
function stopOnSignal(starting: Promise<Running>): Signals {
  const heeded: [NodeJS.Signals, () => void][] = [];
  let stopping = false;
  const stopped = new Promise<void>((resolve, reject) => {
    for (const [signal, code] of ENDING_SIGNALS) {
      const heed = (): void => {
        if (stopping) process.exit(code);
        stopping = true;
        line(process.stdout, 'Stopping');
        // a start that fails is told by whoever waits for it
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
