/** The parser of the options for servers behind a proxy. Trusts no address itself. */

import { isIP } from 'node:net';
import { type Fields, shown } from './fields.js';

/** The proxy options of the native side. */
export interface ProxyPlan {
  trustProxy?: string[];
  proxyProtocol?: boolean;
}

/** The names of these options. `StartOptions` has only the first. */
export const PROXY_KEYS = ['trustProxy', 'proxyProtocol'];

/** Checks the options. Missing ones are taken from `defaults`. */
export function readProxy(fields: Fields, at: string, defaults: ProxyPlan, problems: string[]): ProxyPlan {
  const plan: ProxyPlan = { ...defaults };
  const { trustProxy, proxyProtocol } = fields;
  if (trustProxy !== undefined) plan.trustProxy = readTrustProxy(trustProxy, `${at}.trustProxy`, problems);
  if (proxyProtocol === true) {
    plan.proxyProtocol = true;
    if (plan.trustProxy === undefined || plan.trustProxy.length === 0) {
      problems.push(`${at}.proxyProtocol needs trustProxy: the addresses of the proxies that send the header`);
    }
  } else if (proxyProtocol !== undefined && proxyProtocol !== false) {
    problems.push(`${at}.proxyProtocol must be true or false, not ${shown(proxyProtocol)}`);
  }
  return plan;
}

function readTrustProxy(value: unknown, at: string, problems: string[]): string[] {
  if (!Array.isArray(value)) {
    problems.push(`${at} must be an array of addresses, not ${shown(value)}`);
    return [];
  }
  for (const [index, entry] of value.entries()) {
    if (typeof entry !== 'string' || !(NAMES.includes(entry) || isRange(entry))) {
      problems.push(
        `${at}[${index}] must be an address, a range such as "10.0.0.0/8", 'loopback', 'private' or 'unix', not ${shown(entry)}`,
      );
    }
  }
  return [...value];
}

const NAMES = ['loopback', 'private', 'unix'];

/** Whether a text is an address, or an address with the length of a prefix. */
function isRange(text: string): boolean {
  const slash = text.indexOf('/');
  const version = isIP(slash < 0 ? text : text.slice(0, slash));
  if (version === 0 || text.includes('%')) return false;
  if (slash < 0) return true;
  const length = text.slice(slash + 1);
  return /^[0-9]{1,3}$/.test(length) && Number(length) <= (version === 4 ? 32 : 128);
}
