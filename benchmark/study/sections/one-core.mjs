// Measures CPU per request on one server core. The variants take turns, one window each: Millrace with one I/O thread and
// one worker, Bun and `ws` with one thread.
import { complaints, failures, measure } from '../measure.mjs';
import { percent, show, table, withSpread } from '../tables.mjs';
import { cores, onOneCore } from '../variants.mjs';

export const name = 'one-core';
export const title = 'Stress on one server core';

export async function run(context) {
  const { options } = context;
  const pinned = options.pin !== false && cores > 1;
  const pair = pinned ? [options.serverCore ?? 0, options.loadCore ?? 1] : [];
  const load = { connections: 1_000, requests: options.quick ? 50_000 : 150_000 };
  const windows = options.quick ? 3 : 7;
  const results = await measure(context, 'one core', onOneCore(), load, { runs: windows, cores: pair });
  return report(results, load, windows, pinned);
}

function report(results, load, windows, pinned) {
  const bun = results.find(({ name }) => name === 'bun')?.median.cpu_us;
  const rows = results.map(({ title, median, spread, runs }) => [
    title,
    runs.map(failures).filter(Boolean).join('; ') || '100 %',
    withSpread(median.cpu_us, spread.cpu_us, runs),
    bun ? `${show(median.cpu_us / bun)}×` : '–',
    percent(median.user_share),
    show(median.per_second),
    show(median.p99_us, 1000),
    show(median.switches_per_request),
    show(median.server_share),
    show(median.generator_share) + (median.generator_is_the_limit ? ' (the limit)' : ''),
  ]);
  const head = [
    'server',
    'success',
    'CPU µs per request',
    'of Bun',
    'user part',
    'requests/s',
    'p99 ms',
    'switches per request',
    'server busy',
    'generator busy',
  ];
  return {
    lines: [
      `${load.connections.toLocaleString('en')} connections, one request in flight each, ${windows} windows of ` +
        `${load.requests.toLocaleString('en')} requests per server, taking turns. ` +
        (pinned ? 'The servers have one core, the generator another.' : 'Nothing is pinned here.'),
      '',
      ...table(head, rows),
    ],
    data: results,
    problems: complaints('one core', results),
  };
}
