// Checks that /stats has the number of open connections before, during and after a run.
import { checkCount, checkServer } from '../checks.mjs';
import { measure } from '../measure.mjs';
import { table } from '../tables.mjs';
import { all } from '../variants.mjs';

export const name = 'stats';
export const title = '/stats, and the checks on the program itself';

export async function run(context) {
  const load = { connections: 100, requests: context.options.quick ? 100_000 : 200_000 };
  const data = [];
  const problems = [];
  const measured = await measure(context, '/stats', all, load, { runs: 1, during: true });
  for (const variant of all) {
    const label = `checks: ${variant.title}`;
    context.say(label);
    const checks = await context.attempt(label, () => checkServer(variant));
    const stats = measured.find(({ name }) => name === variant.name)?.problems;
    if (!checks || !stats) continue;
    data.push({ name: variant.name, title: variant.title, stats, checks });
    problems.push(...[...stats, ...checks].map((what) => `${variant.title}: ${what}`));
  }
  const verdict = (list) => (list.length === 0 ? 'right' : list.join('; '));
  return {
    lines: [
      `\`activeConnections\` and the sum of \`perWorker\` before the connections, with all ${load.connections} open, during ` +
        `the requests and after closing; and ${checkCount} checks of replies, limits, paths and signals.`,
      '',
      ...table(
        ['server', '/stats', 'checks'],
        data.map(({ title, stats, checks }) => [title, verdict(stats), verdict(checks)]),
      ),
    ],
    data,
    problems,
  };
}
