/** The paths of a listener at which something other than a WebSocket answers: the option values and how they are read. */

import { type Fields, shown } from '../fields.js';

/** Paths of a listener at which something other than a WebSocket answers. All are off by default. */
export interface PathOptions {
  /**
   * `GET` of this path opens a socket that only receives, as Server-Sent Events; `true` is `"/events"`. `handleOpen`
   * decides over it as over a WebSocket. Default `false`.
   */
  events?: boolean | string;
  /**
   * `GET` of this path answers with the counters of `stats()` as JSON; `true` is `"/stats"`. For a listener that only you
   * can reach. Default `false`.
   */
  stats?: boolean | string;
  /**
   * `GET` of this path answers with metrics as Prometheus reads them; `true` is `"/metrics"`. For a listener that only you
   * can reach. Default `false`.
   */
  metrics?: boolean | string;
}

/** The paths; what is off is not there. */
export type PathPlan = { [key in keyof PathOptions]?: string };

/** The keys of the options. */
export const PATH_KEYS = ['events', 'stats', 'metrics'] as const;

/** Reads the paths of a listener, those of `defaults` where it says nothing. */
export function readPaths(given: Fields, at: string, defaults: PathPlan, problems: string[]): PathPlan {
  const plan: PathPlan = {};
  for (const key of PATH_KEYS) {
    const path = readPath(given[key], `${at}.${key}`, `/${key}`, problems) ?? defaults[key] ?? OFF;
    if (path === OFF) continue;
    const other = PATH_KEYS.find((known) => plan[known] === path);
    if (other !== undefined) {
      problems.push(`${at}.${key} must be another path than ${at}.${other}, not ${shown(path)}`);
    }
    plan[key] = path;
  }
  return plan;
}

function readPath(value: unknown, at: string, usual: string, problems: string[]): string | undefined {
  if (value === undefined) return undefined;
  if (value === false) return OFF;
  if (value === true) return usual;
  if (typeof value === 'string' && /^\/[\x21-\x7e]*$/.test(value) && !/[?#]/.test(value)) return value;
  problems.push(`${at} must be true, false or a path such as "${usual}", not ${shown(value)}`);
  return undefined;
}

/** Said, and no path. */
const OFF = '';
