/** The options for static files: their types and their parser. Serves no file: the native side does. */

import { statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { readObject, shown } from './fields.js';

/** A directory whose files are served. */
export interface StaticOptions {
  /** The directory. A relative path is relative to the working directory. */
  directory: string | URL;
  /** The URL path of the directory: `'/'` (default), or for example `'/assets'`. */
  path?: string;
  /**
   * A file of the directory that is sent when a browser requests a page that does not exist, for applications that
   * route in the browser: `'index.html'`. Only requests whose `Accept` header names `text/html` get it.
   */
  fallback?: string;
  /** A file of the directory that is sent with status 404 if nothing else answers: `'404.html'`. */
  notFound?: string;
  /**
   * Whether files and folders whose name begins with a dot are served. Default false. `.well-known` is always served.
   */
  dotfiles?: boolean;
  /** Whether `name.br`, `name.zst` and `name.gz` are sent instead of `name` to clients that accept them. Default true. */
  precompressed?: boolean;
  /**
   * The `Cache-Control` header of files that may change. Default `'no-cache'`: caches keep the file but ask again
   * before each use. false: no such header.
   */
  cacheControl?: string | false;
  /**
   * Files that never change. Browsers keep them for a year without asking again. true (default): files with a hash in
   * their name, such as `app.3f9a2c1b.js`. An array: files whose path below `directory` begins with one of these
   * (`'/assets/'`).
   */
  immutable?: boolean | string[];
  /** More headers for every answer with a file. `X-Content-Type-Options: nosniff` is sent unless this option has it. */
  headers?: Record<string, string>;
}

/** The options of a directory in the form of the native side. Holds only the given options. */
export interface StaticPlan {
  directory: string;
  path?: string;
  fallback?: string;
  notFound?: string;
  dotfiles?: boolean;
  precompressed?: boolean;
  /** An empty string means no such header. */
  cacheControl?: string;
  hashedNames?: boolean;
  immutable?: string[];
  /** Names and values, alternating. */
  headers?: string[];
}

/** Reads the option as a list. Undefined if it was not given. */
export function readStatic(value: unknown, at: string, problems: string[]): StaticPlan[] | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) return [readDirectory(value, at, problems)];
  return value.map((one, index) => readDirectory(one, `${at}[${index}]`, problems));
}

function readDirectory(value: unknown, at: string, problems: string[]): StaticPlan {
  if (typeof value === 'string' || value instanceof URL) return { directory: checkDirectory(value, at, problems) };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    problems.push(`${at} must be the path of a directory, or an object with it, not ${shown(value)}`);
    return { directory: '' };
  }
  const given = readObject(value, at, KEYS, problems);
  const plan: StaticPlan = { directory: checkDirectory(given['directory'], `${at}.directory`, problems) };
  const mount = given['path'];
  if (typeof mount === 'string' && isPath(mount)) plan.path = mount;
  else if (mount !== undefined) problems.push(`${at}.path must be a path such as "/assets", not ${shown(mount)}`);
  for (const name of ['fallback', 'notFound'] as const) {
    const page = given[name];
    if (typeof page === 'string' && isPath(`/${page}`) && !page.endsWith('/') && page !== '') plan[name] = page;
    else if (page !== undefined) {
      problems.push(`${at}.${name} must be the name of a file in the directory, not ${shown(page)}`);
    }
  }
  for (const name of ['dotfiles', 'precompressed'] as const) {
    const flag = given[name];
    if (typeof flag === 'boolean') plan[name] = flag;
    else if (flag !== undefined) problems.push(`${at}.${name} must be true or false, not ${shown(flag)}`);
  }
  const cacheControl = given['cacheControl'];
  if (cacheControl === false) plan.cacheControl = '';
  else if (typeof cacheControl === 'string' && isValue(cacheControl)) plan.cacheControl = cacheControl;
  else if (cacheControl !== undefined) {
    problems.push(`${at}.cacheControl must be a header's value or false, not ${shown(cacheControl)}`);
  }
  readImmutable(given['immutable'], `${at}.immutable`, plan, problems);
  readHeaders(given['headers'], `${at}.headers`, plan, problems);
  return plan;
}

function checkDirectory(value: unknown, at: string, problems: string[]): string {
  const directory = directoryOf(value);
  if (directory === undefined) {
    problems.push(`${at} must be the path of a directory, not ${shown(value)}`);
    return '';
  }
  if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
    problems.push(`${at} must be a directory: there is none at ${JSON.stringify(directory)}`);
  }
  return directory;
}

function directoryOf(value: unknown): string | undefined {
  if (value instanceof URL) return value.protocol === 'file:' ? fileURLToPath(value) : undefined;
  if (typeof value !== 'string' || value === '' || value.includes('\0')) return undefined;
  return path.resolve(value);
}

function readImmutable(value: unknown, at: string, plan: StaticPlan, problems: string[]): void {
  if (value === undefined) return;
  if (typeof value === 'boolean') plan.hashedNames = value;
  else if (Array.isArray(value) && value.every((one) => typeof one === 'string' && one.startsWith('/'))) {
    plan.hashedNames = false;
    plan.immutable = [...value];
  } else {
    problems.push(`${at} must be true, false or an array of paths such as "/assets/", not ${shown(value)}`);
  }
}

function readHeaders(value: unknown, at: string, plan: StaticPlan, problems: string[]): void {
  if (value === undefined) return;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    problems.push(`${at} must be an object, not ${shown(value)}`);
    return;
  }
  plan.headers = [];
  for (const [name, text] of Object.entries(value)) {
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/i.test(name))
      problems.push(`${at} cannot have ${shown(name)}: it is not a valid header name`);
    else if (OURS.includes(name.toLowerCase())) problems.push(`${at} cannot have ${name}: it is made for each file`);
    else if (typeof text !== 'string' || !isValue(text)) {
      problems.push(`${at}.${name} must be a header's value, not ${shown(text)}`);
    } else plan.headers.push(name, text);
  }
}

/** Whether a path is normalised: no empty segment, no `.` or `..`, and no escapes. */
function isPath(text: string): boolean {
  return /^\/(?:[^/\\%\0]+(?:\/[^/\\%\0]+)*\/?)?$/.test(text) && !/\/\.{1,2}(?:\/|$)/.test(text);
}

/** Whether a text is a valid header value. */
function isValue(text: string): boolean {
  return /^[\t\x20-\x7e]+$/.test(text) && text.trim() === text;
}

const KEYS: (keyof StaticOptions)[] = [
  'directory',
  'path',
  'fallback',
  'notFound',
  'dotfiles',
  'precompressed',
  'cacheControl',
  'immutable',
  'headers',
];

/** Headers that the gateway computes for each file. */
const OURS = [
  'accept-ranges',
  'connection',
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'date',
  'etag',
  'keep-alive',
  'last-modified',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'vary',
];
