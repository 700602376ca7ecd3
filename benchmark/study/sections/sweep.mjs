// Measures 10 to 5,000 connections with the same requests, to find the numbers with the best throughput.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { descriptorLimit } from '../../runner/limits.mjs';
import { lineChart } from '../../runner/plot.mjs';
import { complaints, measure } from '../measure.mjs';
import { show, table } from '../tables.mjs';
import { millrace, withWorkers, ws, wsCluster } from '../variants.mjs';

const POINTS = [10, 50, 100, 200, 500, 1_000, 2_000, 5_000];
const QUICK = [10, 100, 1_000];
/** Descriptors that a process needs in addition to its connections. */
const RESERVE = 200;

export const name = 'sweep';
export const title = 'Connection sweep';

export async function run(context) {
  const { quick } = context.options;
  const limit = descriptorLimit();
  const requests = quick ? 10_000 : 50_000;
  const points = (quick ? QUICK : POINTS).filter((connections) => connections + RESERVE <= limit);
  const variants = [...new Set([millrace(1).name, withWorkers.at(-1).name])].map((name) =>
    withWorkers.find((variant) => variant.name === name),
  );
  const results = [];
  const problems = [];
  for (const connections of points) {
    const label = `${connections} connections`;
    const found = await measure(context, label, [...variants, ws, wsCluster], { connections, requests });
    results.push(...found.map((one) => ({ ...one, connections })));
    problems.push(...complaints(label, found));
  }
  const titles = [...new Set(results.map(({ title }) => title))];
  const cell = (connections, title, field, unit) =>
    show(results.find((one) => one.connections === connections && one.title === title)?.median[field], unit);
  const grid = (field, unit) =>
    table(
      ['connections', ...titles],
      points.map((connections) => [connections, ...titles.map((title) => cell(connections, title, field, unit))]),
    );
  return {
    lines: [
      `${requests.toLocaleString('en')} requests at every point, one in flight per connection. The limit here is ` +
        `${limit.toLocaleString('en')} descriptors per process: ${points.at(-1).toLocaleString('en')} connections at most.`,
      '',
      'Requests per second:',
      '',
      ...grid('per_second', 1),
      '99th percentile of the response time, in ms:',
      '',
      ...grid('p99_us', 1000),
      ...titles.map((title) => sweetSpot(title, results)),
      '',
      ...plots(context, titles, results),
    ],
    data: results,
    problems,
  };
}

/** The numbers of connections with at least 95 % of the best throughput. */
function sweetSpot(title, results) {
  const own = results.filter((one) => one.title === title);
  const best = Math.max(...own.map(({ median }) => median.per_second));
  const good = own.filter(({ median }) => median.per_second >= best * 0.95);
  return `- ${title}: best with ${own.find(({ median }) => median.per_second === best).connections} connections, within 5 % of that with ${good.map(({ connections }) => connections).join(', ')}`;
}

function plots(context, titles, results) {
  const draw = (file, title, yLabel, value) => {
    const series = titles.map((title) => {
      const own = results.filter((one) => one.title === title);
      return { name: own[0].name, points: own.map((one) => [one.connections, value(one.median)]) };
    });
    if (!series.some(({ points }) => points.length > 1)) return [];
    const subtitle = `${yLabel}, one request in flight per connection`;
    const chart = lineChart({ title, subtitle, xLabel: 'connections', yLabel, series, logX: true, logY: true });
    mkdirSync(join(context.folder, 'plots'), { recursive: true });
    writeFileSync(join(context.folder, file), chart);
    return [`![${title}](${file})`, ''];
  };
  return [
    ...draw(
      'plots/study-throughput.svg',
      'Throughput over connections',
      'requests per second',
      (one) => one.per_second,
    ),
    ...draw(
      'plots/study-p99.svg',
      'Response time over connections',
      '99th percentile in ms',
      (one) => one.p99_us / 1000,
    ),
  ];
}
