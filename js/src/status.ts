/** Where a listener shows the gateway's state: the option values and how they are read. */

import { type Fields, shown } from './fields.js';

/** Where a listener shows the gateway's state. Off by default: give it to a listener that only you can reach. */
export interface StatusOptions {
  /** `GET` of this path answers with the counters of `stats()` as JSON; `true` is `"/stats"`. Default `false`. */
  stats?: boolean | string;
  /** `GET` of this path answers with metrics as Prometheus reads them; `true` is `"/metrics"`. Default `false`. */
  metrics?: boolean | string;
}

/** The paths; what is off is not there. */
export interface StatusPlan {
  stats?: string;
  metrics?: string;
}

/** The keys of the options. */
export const STATUS_KEYS = ['stats', 'metrics'] as const;

/** Reads the paths of a listener, those of `defaults` where it says nothing. */
export function readStatus(given: Fields, at: string, defaults: StatusPlan, problems: string[]): StatusPlan {
  const plan: StatusPlan = {};
  for (const key of STATUS_KEYS) {
    const path = readPath(given[key], `${at}.${key}`, `/${key}`, problems) ?? defaults[key] ?? OFF;
    if (path !== OFF) plan[key] = path;
  }
  if (plan.stats !== undefined && plan.stats === plan.metrics) {
    problems.push(`${at}.metrics must be another path than ${at}.stats, not ${shown(plan.metrics)}`);
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
