// The table of the scenario `threads`: one line for each load and number of threads.
import { show, table } from './cells.mjs';
import { loads } from './threads.mjs';

/** The lines below the title. */
export function rowsDetails({ peers, columns }) {
  const names = Object.keys(peers);
  const failures = Object.values(peers).some(({ error }) => error);
  const rows = loads.flatMap((load) =>
    names.map((name) => {
      const { figures = {}, error } = peers[name];
      const of = (field, who = figures) => who?.[`${load.name}_${field}`];
      const cells = columns.map(([field]) => show(of(field)));
      const failure = failures ? [error?.replaceAll('\n', ' ').replaceAll('|', '\\|') ?? ''] : [];
      const ratio = of('instructions') / of('instructions', peers[names[0]].figures);
      return [load.title, name, ...cells, show(ratio), ...failure];
    }),
  );
  const head = ['load', 'each of I/O and workers', ...columns.map(([, heading]) => heading)];
  return [
    ...table([...head, 'instructions / 1 thread', ...(failures ? ['failure'] : [])], rows),
    'Instructions and cache misses are those that callgrind counts in the whole server, JavaScript included, without the ' +
      'kernel, without io_uring, in a closed loop with one message outstanding per connection. callgrind runs one thread ' +
      'at a time on one simulated set of caches, so lines that move between cores are not among the misses. Switches, CPU ' +
      'and p99 are those of the real server in an open loop at the rate in the first column.',
    '',
  ];
}
