// Measures how much more workers help a handler that computes: every request is hashed 200 times.
import { complaints, measure } from '../measure.mjs';
import { responses, show, table } from '../tables.mjs';
import { all, cores } from '../variants.mjs';

const ROUNDS = 200;

export const name = 'cpu-bound';
export const title = 'CPU-bound handler';

export async function run(context) {
  const load = { connections: 100, requests: context.options.quick ? 2_000 : 10_000 };
  const serverArgs = [`--rounds=${ROUNDS}`];
  const results = await measure(context, `${ROUNDS} rounds`, all, load, { serverArgs });
  const speed = (name) => results.find((result) => result.name === name)?.median.per_second;
  const rows = results.map((result) => {
    const one = speed(result.ours ? 'millrace-1' : 'ws');
    return [result.title, show(result.median.per_second), `${show(result.median.per_second / one)}×`];
  });
  return {
    lines: [
      `${ROUNDS} rounds of SHA-256 per request, ${load.connections} connections, ` +
        `${load.requests.toLocaleString('en')} requests. The generator has a share of the ${cores} cores too.`,
      '',
      ...table(['server', 'requests/s', 'speed-up over one thread'], rows),
      ...responses(results),
    ],
    data: results,
    problems: complaints('CPU-bound handler', results),
  };
}
