/** Lines of the log, and their levels. Types only. */

/** How much is logged, from nothing to everything. */
export type LogLevel = 'off' | 'error' | 'warn' | 'info' | 'debug' | 'trace';

/** One line of the log, as `onLog` gets it. */
export interface LogLine {
  /** When, in milliseconds since 1970. */
  time: number;
  /** How bad or how detailed it is. */
  level: Exclude<LogLevel, 'off'>;
  /** What it is about: `millrace::gateway`, `millrace::listener`, `millrace::worker`, `millrace::connection`, … */
  target: string;
  /** What happened. Never holds what clients sent. */
  message: string;
  /** To whom, and what else there is to know. */
  fields: Record<string, string | number | boolean>;
}
