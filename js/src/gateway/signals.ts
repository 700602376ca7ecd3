/**
 * Signals that stop servers. Owns the process's listeners for these signals, which exist only while a signal is to stop
 * a server. Does not know what a server is.
 */

import { MillraceError } from '../errors.js';
import { nothing } from '../log/quiet.js';
import { print, readable } from '../log/report.js';

/** Options for stopping a server whose stop cannot be spread. */
export interface DrainOptions {
  /** Time in milliseconds for outboxes to be written. Default 5,000. */
  drain?: number;
}

/** Options for stopping a server. */
export interface StopOptions extends DrainOptions {
  /**
   * Time in milliseconds over which connections are closed, one after the other at equal distances. Default 0: all at
   * once. The server accepts connections until the time is over, but `/ready` answers 503 from the beginning. Then
   * outboxes have the time of `drain`. The reason of each close is `retry=<ms>`: after that time the client should
   * connect again. It is between one and two seconds; those of connections that are closed together, because they came
   * in the meantime or because another stop shortened the time, are between one second and one more than this time.
   */
  spread?: number;
  /** The close code of a spread stop: 1000 to 1003, 1007 to 1014 or 3000 to 4999. Default 1012. Only with `spread`. */
  code?: number;
}

/** What a signal stops. */
export interface Stoppable {
  stop(options?: StopOptions): Promise<void>;
  /** Resolves when it is stopped, for whatever reason. */
  readonly stopped: Promise<void>;
}

/**
 * The signals that ask a process to end, with the exit codes that shells use. On Windows: Ctrl-Break and a closed
 * window.
 */
export const ENDING_SIGNALS: readonly (readonly [NodeJS.Signals, number])[] = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ...(process.platform === 'win32'
    ? ([
        ['SIGBREAK', 149],
        ['SIGHUP', 129],
      ] as const)
    : []),
];

/**
 * The first signal stops the server once it has started; the second one ends the process. When the last of these
 * servers is stopped, signals have their previous effect again.
 *
 * @param starting a server that fails to start is forgotten
 */
export function stopOnSignals(starting: Promise<Stoppable>, options: StopOptions = {}): void {
  if (SERVERS.size === 0) listen();
  SERVERS.set(starting, options);
  const forget = (): void => {
    SERVERS.delete(starting);
    if (SERVERS.size === 0) listenNoMore();
  };
  starting.then((server) => server.stopped).then(forget, forget);
}

const SERVERS = new Map<Promise<Stoppable>, StopOptions>();

const heeded = new Map<NodeJS.Signals, () => void>();
let isStopping = false;

function listen(): void {
  for (const [signal, code] of ENDING_SIGNALS) {
    const heed = (): void => {
      if (isStopping) process.exit(code);
      isStopping = true;
      for (const [starting, options] of SERVERS) starting.then((server) => stop(server, options), nothing);
    };
    try {
      process.on(signal, heed);
      heeded.set(signal, heed);
    } catch {
      // a runtime may lack a signal on this platform
    }
  }
}

function listenNoMore(): void {
  for (const [signal, heed] of heeded) process.off(signal, heed);
  heeded.clear();
  isStopping = false;
}

function stop(server: Stoppable, options: StopOptions): Promise<void> {
  return server.stop(options).catch((cause: unknown) => {
    process.exitCode = 1;
    print(new MillraceError('ERR_MILLRACE_INTERNAL', `a server could not be stopped: ${readable(cause)}`, { cause }));
  });
}
