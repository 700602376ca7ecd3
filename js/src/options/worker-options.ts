/**
 * The options of `start` about workers: a module for threads, or handlers for the calling thread. Parses them; starts
 * no worker.
 */

import { availableParallelism } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { FetchHandler } from '../worker/fetch/fetch-handler.js';
import { type Fields, readNumber, shown } from './fields.js';

/** An object that answers requests, such as an app of Hono. */
export interface FetchApp {
  /** The same as `fetch` of a worker module. */
  fetch: FetchHandler;
}

/** The workers that a call of `start` asks for. */
export interface WorkerPlan {
  /** The module's URL, or the module itself. */
  module: string | object;
  threads: number;
  arg: unknown;
}

/** Reads which workers to start. `first`: the gateway has no workers yet. */
export function readWorkers(root: Fields, first: boolean, problems: string[]): WorkerPlan | undefined {
  const threads = readNumber(root['threads'], 'options.threads', { least: 0, most: MOST_THREADS }, problems);
  const module = root['workerPath'];
  const handlers = root['handlers'];
  if (handlers !== undefined) return readHandlers(handlers, threads, root, problems);
  if (module === undefined) {
    if (first) problems.push('options.workerPath or options.handlers is required: the gateway has no workers yet');
    else if (threads !== undefined) problems.push('options.threads needs options.workerPath');
    return undefined;
  }
  const url = readModule(module, problems);
  if (url === undefined) return undefined;
  return { module: url, threads: threads ?? Math.max(4, availableParallelism()), arg: root['workerArg'] };
}

function readHandlers(
  value: unknown,
  threads: number | undefined,
  root: Fields,
  problems: string[],
): WorkerPlan | undefined {
  const isObject = (typeof value === 'object' || typeof value === 'function') && value !== null;
  if (!isObject) problems.push(`options.handlers must be an object with handlers, not ${shown(value)}`);
  if (root['workerPath'] !== undefined) problems.push('options.handlers and options.workerPath exclude each other');
  if (threads !== undefined && threads > 0) {
    problems.push(`options.threads must be 0 with options.handlers, which run on the calling thread, not ${threads}`);
  }
  return isObject ? { module: value, threads: 0, arg: root['workerArg'] } : undefined;
}

function readModule(value: unknown, problems: string[]): string | undefined {
  if (value instanceof URL || (typeof value === 'string' && value.startsWith('file:'))) {
    const href = String(value);
    if (href.startsWith('file:') && URL.canParse(href)) return href;
  } else if (typeof value === 'string' && value !== '' && !value.includes('\0')) {
    return pathToFileURL(path.resolve(value)).href;
  }
  problems.push(`options.workerPath must be a path or a file: URL, not ${shown(value)}`);
  return undefined;
}

const MOST_THREADS = 1024;
