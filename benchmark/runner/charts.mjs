// Chooses the chart for a scenario: bars of its main figure, or percentiles as dots.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { barChart, dotChart } from './plot.mjs';

/** Draws the charts of all scenarios into `plots/` of a folder: `{ <scenario>: [paths] }`. */
export function drawCharts(folder, outcomes) {
  const paths = {};
  for (const outcome of outcomes.filter(drawn)) {
    paths[outcome.name] = charts(outcome).map(([suffix, svg]) => {
      mkdirSync(join(folder, 'plots'), { recursive: true });
      const path = `plots/${outcome.name}${suffix}.svg`;
      writeFileSync(join(folder, path), svg);
      return path;
    });
  }
  return paths;
}

/** A table of many rows has no chart. */
function drawn({ kind, peers }) {
  return kind !== 'rows' && Object.keys(peers).length > 0;
}

function charts(outcome) {
  const { title, peers, note, half, columns } = outcome;
  const figures = outcome.figures ?? [columns[0]];
  if (half) {
    const rows = Object.entries(peers).map(([label, { figures: found, error }]) => ({
      label,
      values: figures.map(([field]) => (error ? Number.NaN : found?.[field])),
      note: error ? 'failed' : saturated(found),
      strong: ours(label),
    }));
    const subtitle = `latency from the intended time, µs, logarithmic; less is better; ${note ?? ''}`;
    const series = figures.map(([, heading]) => heading.replace(' µs', ''));
    return [['', dotChart({ title, subtitle, series, rows })]];
  }
  return figures.map(([field, unit], i) => {
    const better = field === 'per_second' ? 'more is better' : 'less is better';
    const bars = Object.entries(peers).map(([label, { figures: found, error }]) => ({
      label,
      value: error ? undefined : found?.[field],
      note: error ? 'failed' : found?.generator_is_the_limit && '(generator was the limit)',
      strong: ours(label),
    }));
    return [i === 0 ? '' : `-${field.replaceAll('_', '-')}`, barChart({ title, subtitle: `${unit}; ${better}`, bars })];
  });
}

function ours(peer) {
  return peer.startsWith('millrace');
}

/** The note for a peer that did not keep up with an open loop. */
export function saturated(figures) {
  return figures?.unsent > 0 ? 'overloaded' : undefined;
}
