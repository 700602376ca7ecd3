// The common part of all servers of the study: the handler, the options, the signals, the answers over HTTP.
//   --rounds=N     how many times to hash (1); the answer does not depend on it
//   --log=FILE     write every message to this file, as the log level "debug" does
//   --control      obey `!who`, `!exit` and `!hang`, for the study of failing workers
import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';

/** The size limit of a message in bytes; a longer one closes the connection with 1009. */
export const LARGEST_MESSAGE = 1024;

/** The value of `--name=value`, or the fallback if it is absent. */
export function option(name, fallback) {
  const word = process.argv.find((argument) => argument.startsWith(`--${name}=`));
  return word ? word.slice(name.length + 3) : fallback;
}

/** The first argument of `createHandler`, from the command line. It can be cloned into workers. */
export function handlerOptions() {
  return { rounds: Number(option('rounds', '1')), log: option('log'), control: process.argv.includes('--control') };
}

/**
 * Makes the handler, which returns the reply to a text, or undefined for no reply. `worker` is the name of the worker in
 * which it runs, and `exit` ends this worker; only `--control` uses them.
 */
export function createHandler({ rounds, log, control }, worker, exit) {
  const hash = rounds === 1 ? reply : (text) => repeatedly(text, rounds);
  const logged = log ? (text) => debug(log, text) || hash(text) : hash;
  if (!control) return logged;
  return (text) => {
    if (text === '!who') return JSON.stringify({ worker: String(worker) });
    if (text === '!exit') return exit();
    while (text === '!hang');
    return logged(text);
  };
}

function reply(text) {
  return `{"sha":"${createHash('sha256').update(text).digest('hex')}"}`;
}

function repeatedly(text, rounds) {
  for (let round = 1; round < rounds; round++) reply(text);
  return reply(text);
}

function debug(file, text) {
  appendFileSync(file, `${new Date().toISOString()} debug: ${text}\n`);
}

/** Status and body for a request without an upgrade. `stats` returns the answer of `/stats`. */
export async function httpAnswer(method, path, stats) {
  if (method !== 'GET' || path !== '/stats') return { status: 404, body: JSON.stringify({ error: 'Not Found' }) };
  return { status: 200, body: JSON.stringify(await stats()) };
}

/** The same as a listener of `node:http`. */
export function httpListener(stats) {
  return async (request, response) => {
    const { status, body } = await httpAnswer(request.method, request.url, stats);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(body);
  };
}

/** SIGINT closes and exits with 0, SIGTERM closes and exits with 1. */
export function exitOnSignals(close) {
  for (const [signal, status] of [
    ['SIGINT', 0],
    ['SIGTERM', 1],
  ]) {
    process.once(signal, async () => {
      await close(signal);
      process.exit(status);
    });
  }
}

/** Tells the runner the ports of the WebSocket and of `/stats`. */
export function ready(port, statsPort = port) {
  process.stdout.write(`ready ${port} ${statsPort}\n`);
}
