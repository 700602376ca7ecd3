// The results as Markdown.
import { failures } from './measure.mjs';

/** A table; the first column is text, the others are numbers. */
export function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(line), ''];
}

/** A number with three significant digits. */
export function show(value, unit = 1) {
  if (typeof value !== 'number' || !Number.isFinite(value)) return '–';
  const scaled = value / unit;
  return Math.abs(scaled) >= 100 ? scaled.toFixed(0) : String(Number(scaled.toPrecision(3)));
}

/** The median, and the extremes in brackets if there were several runs. */
export function withSpread(median, spread, runs) {
  return runs.length > 1 ? `${show(median)} (${spread.map((value) => show(value)).join('–')})` : show(median);
}

const ms = (value) => show(value, 1000);
const times = ['mean', 'p50', 'p90', 'p99', 'p999', 'max'];

/** Success, throughput and times: one row per variant. Where requests failed, a second row counts them as timeouts. */
export function responses(results) {
  const rows = results.flatMap((result) => {
    const { title, median, spread } = result;
    const row = [
      title,
      median.success_percent.toFixed(2),
      withSpread(median.per_second, spread.per_second, result.runs),
      ...times.map((name) => ms(median[`${name}_us`])),
      median.generator_is_the_limit ? `**${show(median.generator_share)}**` : show(median.generator_share),
    ];
    if (median.success_percent === 100) return [row];
    const counted = times.map((name) => ms(median[`with_failures_${name}_us`]));
    return [row, [`${title}, failures counted as the timeout`, '', '', ...counted, '']];
  });
  const head = ['server', 'success %', 'requests/s', 'mean ms', 'p50', 'p90', 'p99', 'p99.9', 'max', 'generator busy'];
  const failed = results.flatMap(({ title, runs }) =>
    runs.map(failures).flatMap((words, run) => (words ? [`- ${title}, run ${run + 1}: ${words}`] : [])),
  );
  return [...table(head, rows), ...(failed.length > 0 ? ['Failures by class:', '', ...failed, ''] : [])];
}

/** A share in percent. Short runs have none, because the process table counts hundredths of a second. */
export function percent(part) {
  return Number.isFinite(part) ? `${Math.round(part * 100)} %` : '–';
}

/** CPU, memory, connections: one row per variant. */
export function costs(results) {
  const rows = results.map(({ title, median, perWorker }) => [
    title,
    show(median.cpu_s_per_1000),
    show(median.cpu_us),
    percent(median.user_share),
    show(median.server_share),
    show(median.switches_per_request),
    [median.mib_start, median.mib_peak, median.mib_end].map((value) => Math.round(value)).join(' / '),
    `${ms(median.connect_mean_us)} / ${ms(median.connect_max_us)}`,
    perWorker ? perWorker.join('–') : '–',
  ]);
  const head = [
    'server',
    'CPU s per 1000',
    'CPU µs per request',
    'user part',
    'cores used',
    'switches per request',
    'RSS MiB start / peak / end',
    'connect ms mean / max',
    'connections per worker',
  ];
  return table(head, rows);
}

/** Millrace beside the two originals: throughput and 99th percentile as multiples of theirs. */
export function relative(results) {
  const find = (name) => results.find((result) => result.name === name)?.median;
  const [single, cluster] = [find('ws'), find('ws-cluster')];
  const ours = results.filter((result) => result.ours);
  if (!single || !cluster || ours.length === 0) return [];
  const times = (a, b) => (a && b ? `${show(a / b)}×` : '–');
  const rows = ours.map(({ title, median }) => [
    title,
    times(median.per_second, single.per_second),
    times(median.per_second, cluster.per_second),
    times(median.p99_us, single.p99_us),
    times(median.p99_us, cluster.p99_us),
  ]);
  return table(['', 'requests/s of ws', 'of its cluster', 'p99 of ws', 'of its cluster'], rows);
}
