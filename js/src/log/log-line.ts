/** Lines of the log, and their levels. Types only. */

/** How much is logged, from nothing to everything. */
export type LogLevel = 'off' | 'error' | 'warn' | 'info' | 'debug' | 'trace';

/** One line of the log, as `onLog` gets it. */
export interface LogLine {
  /** The time in milliseconds since 1970. */
  time: number;
  /** The severity. */
  level: Exclude<LogLevel, 'off'>;
  /** The subject: `millrace::gateway`, `millrace::listener`, `millrace::worker`, `millrace::connection`, … */
  target: string;
  /** What happened. It never contains data of clients. */
  message: string;
  /** More data about the event, by name. */
  fields: Record<string, string | number | boolean>;
}
