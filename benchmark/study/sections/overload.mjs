// Overload: every connection sends all its requests at once, without waiting for a reply.
import { complaints, measure } from '../measure.mjs';
import { costs, relative, responses } from '../tables.mjs';
import { all } from '../variants.mjs';

export const name = 'overload';
export const title = 'Overload: all at once';

export async function run(context) {
  const connections = 1_000;
  const requests = context.options.quick ? 50_000 : 500_000;
  const load = { connections, requests, inFlight: 'all' };
  const results = await measure(context, 'all at once', all, load);
  return {
    lines: [
      `${connections.toLocaleString('en')} connections send ${requests.toLocaleString('en')} requests together. A ` +
        'response time is long by nature here: the last request waits for all before it.',
      '',
      ...responses(results),
      ...relative(results),
      ...costs(results),
    ],
    data: results,
    problems: complaints('overload', results),
  };
}
