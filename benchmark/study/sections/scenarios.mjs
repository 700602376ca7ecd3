// Measures every variant under the loads from light to stress, and extreme and soak if requested, with one and sixteen
// requests in flight.
import { complaints, measure } from '../measure.mjs';
import { costs, relative, responses } from '../tables.mjs';
import { all } from '../variants.mjs';

const LOADS = [
  { name: 'light', connections: 10, requests: 1_000 },
  { name: 'medium', connections: 100, requests: 10_000 },
  { name: 'heavy', connections: 500, requests: 50_000 },
  { name: 'stress', connections: 1_000, requests: 500_000 },
  { name: 'extreme', connections: 1_000, requests: 1_000_000, flag: 'extreme' },
  { name: 'soak', connections: 10_000, requests: 1_000_000, flag: 'soak' },
];
const QUICK = ['light', 'medium', 'heavy'];

export const name = 'scenarios';
export const title = 'Light to stress';

export async function run(context) {
  const lines = [];
  const data = [];
  const problems = [];
  for (const load of LOADS.filter((load) => chosen(load, context.options))) {
    for (const inFlight of [1, 16]) {
      const label = `${load.name}, ${inFlight} in flight`;
      const results = await measure(context, label, all, { ...load, inFlight });
      problems.push(...complaints(label, results));
      if (results.length === 0) continue;
      data.push({ load: load.name, inFlight, results });
      lines.push(
        `### ${load.name[0].toUpperCase()}${load.name.slice(1)}: ${load.connections.toLocaleString('en')} connections, ` +
          `${load.requests.toLocaleString('en')} requests, ${inFlight} in flight per connection`,
        '',
        ...responses(results),
        ...relative(results),
        ...costs(results),
      );
    }
  }
  return { lines, data, problems };
}

function chosen({ name, flag }, options) {
  if (flag) return Boolean(options[flag]);
  return !options.quick || QUICK.includes(name);
}
