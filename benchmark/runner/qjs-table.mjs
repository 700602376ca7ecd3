// The table of the scenario `qjs`: one line for each path, number of connections and program.
import { show, table } from './cells.mjs';
import { rows } from './qjs-rows.mjs';

/** The lines below the title. */
export function rowsDetails({ peers, columns, without }) {
  const failures = Object.values(peers).some(({ error }) => error);
  const cells = rows.flatMap((row) =>
    Object.entries(peers)
      .filter(([, found]) => found.rows[row.name])
      .map(([name, found]) => {
        const { figures, error } = found.rows[row.name];
        const limited = figures?.generator_is_the_limit ? ' *' : '';
        const failure = failures ? [error?.replaceAll('\n', ' ').replaceAll('|', '\\|') ?? ''] : [];
        const shown = columns.map(([field]) => show(figures?.[field]));
        return [`\`${row.path}\``, row.connections, name + limited, ...shown, ...failure];
      }),
  );
  const headings = columns.map(([, heading]) => heading);
  const head = ['GET', 'connections', 'peer', ...headings, ...(failures ? ['failure'] : [])];
  const [line, rule, ...rest] = table(head, cells);
  return [
    ...[line, rule.replace('---: | ---:', '---: | ---'), ...rest],
    'One request outstanding on each connection, which stays open. MiB are those resident in all processes of the server at ' +
      'the end of a window, after all rows above. `millrace` is the app of `millrace/http`, one I/O thread and one worker; ' +
      '`millrace-2` has two of each, on two cores.',
    '',
    '\\* The generator was the limit.',
    '',
    ...without.map(({ name, reason }) => `\`${name}\` is left out: ${reason}.`),
    '',
  ];
}
