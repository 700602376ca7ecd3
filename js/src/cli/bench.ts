/** `millrace bench`: measures a WebSocket server from one thread. Owns its options and its output. */

import { readable } from '../log/report.js';
import { lastOf, type OptionTable, readArguments, seeHelp, UsageError, wholeOf } from './arguments.js';
import { Load, type LoadPlan } from './bench/load.js';
import { bold, endProgress, line, progress } from './terminal.js';

/** Runs the command. Resolves with the exit code. */
export async function bench(args: string[]): Promise<number> {
  const { plan, json } = readBenchOptions(args);
  const load = new Load(plan);
  let interrupted = false;
  const interrupt = (): void => {
    if (interrupted) process.exit(INTERRUPTED);
    interrupted = true;
    load.stop();
  };
  process.on('SIGINT', interrupt);
  const compressed = plan.compression ? ', compressed' : '';
  const what = plan.mode === 'echo' ? `, texts of ${plan.size} bytes${compressed}` : compressed;
  line(process.stderr, `${plan.mode}: ${plan.connections} connections to ${plan.url.href}${what}, ${plan.seconds} s`);
  const ticker = setInterval(() => tick(load, plan), 1000);
  try {
    await load.run();
  } catch (error) {
    line(process.stderr, `millrace: bench: ${readable(error)}`);
    return FAILED;
  } finally {
    clearInterval(ticker);
    process.off('SIGINT', interrupt);
    endProgress(process.stderr);
  }
  if (interrupted && load.latencies.count === 0) {
    line(process.stderr, 'millrace: bench: interrupted before anything came back');
    return INTERRUPTED;
  }
  if (json) line(process.stdout, JSON.stringify(asJson(load, plan)));
  else show(load, plan);
  for (const [reason, count] of load.failures) line(process.stderr, `millrace: bench: ${reason} (${count} times)`);
  if (load.others > 0) {
    line(process.stderr, `millrace: bench: ${load.others} messages were not what was sent, and are not counted`);
  }
  if (load.latencies.count === 0) {
    const hint = plan.mode === 'echo' ? ': does the server send texts back?' : '';
    line(process.stderr, `millrace: bench: nothing came back${hint}`);
    return FAILED;
  }
  if (load.failures.size > 0) return FAILED;
  return interrupted ? INTERRUPTED : OK;
}

function readBenchOptions(args: string[]): { plan: LoadPlan; json: boolean } {
  const given = readArguments('bench', args, TABLE);
  const [text, ...others] = given.positionals;
  if (text === undefined) throw new UsageError(`bench: a URL is missing${seeHelp('bench')}`);
  if (others.length > 0) throw new UsageError(`bench: unexpected argument ${others[0]}: one URL is enough`);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['ws:', 'wss:'].includes(url.protocol) || url.hostname === '') {
    throw new UsageError(`bench: the URL must be such as ws://localhost:3000, not ${JSON.stringify(text)}`);
  }
  const mode = lastOf(given, 'mode') ?? 'echo';
  if (mode !== 'echo' && mode !== 'connect') {
    throw new UsageError(`bench: --mode must be echo or connect, not ${JSON.stringify(mode)}`);
  }
  const whole = (name: string, most: number): number | undefined => wholeOf('bench', given, name, 1, most);
  const plan: LoadPlan = {
    url,
    mode,
    connections: whole('connections', 10_000) ?? 50,
    seconds: whole('seconds', 3_600) ?? 5,
    size: whole('size', 1_048_576) ?? 32,
    compression: given.flags.has('compression'),
  };
  return { plan, json: given.flags.has('json') };
}

function tick(load: Load, { mode, seconds }: LoadPlan): void {
  const elapsed = load.elapsed / 1000;
  const done = count(load.latencies.count);
  const p99 = milliseconds(load.latencies.percentile(99));
  progress(process.stderr, `  ${elapsed.toFixed(0)} of ${seconds} s: ${done} ${UNITS[mode]}, 99 % within ${p99}`);
}

function show(load: Load, { mode }: LoadPlan): void {
  const { latencies } = load;
  const total = `${count(latencies.count)} ${UNITS[mode]} in ${(load.elapsed / 1000).toFixed(1)} s`;
  line(process.stdout, `${bold(process.stdout, `${count(perSecond(load))} ${UNITS[mode]} per second`)} (${total})`);
  for (const percent of PERCENTILES) {
    const name = `${percent} %`.padStart(8);
    line(process.stdout, `${name} within ${milliseconds(latencies.percentile(percent)).padStart(11)}`);
  }
  line(process.stdout, `${'longest'.padStart(8)}        ${milliseconds(latencies.max).padStart(11)}`);
}

function asJson(load: Load, plan: LoadPlan): Record<string, unknown> {
  const { latencies, failures, others } = load;
  const percentiles = PERCENTILES.map((percent) => [`p${percent}`, rounded(latencies.percentile(percent))]);
  return {
    url: plan.url.href,
    mode: plan.mode,
    connections: plan.connections,
    size: plan.mode === 'echo' ? plan.size : undefined,
    compression: plan.compression,
    seconds: rounded(load.elapsed / 1000),
    count: latencies.count,
    perSecond: rounded(perSecond(load)),
    latencyMs: { ...Object.fromEntries(percentiles), max: rounded(latencies.max) },
    otherMessages: others,
    failures: Object.fromEntries(failures),
  };
}

function perSecond(load: Load): number {
  return load.latencies.count / (load.elapsed / 1000);
}

function rounded(number: number): number {
  return Math.round(number * 1000) / 1000;
}

function count(number: number): string {
  return Math.round(number).toLocaleString('en-US');
}

function milliseconds(ms: number): string {
  return `${ms.toFixed(3)} ms`;
}

const TABLE: OptionTable = {
  mode: 'text',
  connections: 'text',
  seconds: 'text',
  size: 'text',
  compression: 'flag',
  json: 'flag',
};

/** What each mode counts. */
const UNITS = { echo: 'round trips', connect: 'handshakes' };

const PERCENTILES = [50, 90, 99, 99.9];

const OK = 0;
const FAILED = 1;
const INTERRUPTED = 130;
