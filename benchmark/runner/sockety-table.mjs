// The table of the scenario `sockety`: one line for each row and peer.
import { CONNECTIONS, rows, THREADS } from '../peers/sockety/rows.mjs';
import { show, table } from './cells.mjs';

/** The lines below the title. */
export function rowsDetails({ peers, columns, without }) {
  const failures = Object.values(peers).some(({ error }) => error);
  const cells = rows.flatMap((row) =>
    Object.entries(peers)
      .filter(([, found]) => found.rows[row.name])
      .map(([peer, found]) => {
        const { figures, error } = found.rows[row.name];
        const failure = failures ? [error?.replaceAll('\n', ' ').replaceAll('|', '\\|') ?? ''] : [];
        return [row.title, peer, ...columns.map(([field]) => show(figures?.[field])), ...failure];
      }),
  );
  const head = ['a task', 'peer', ...columns.map(([, heading]) => heading), ...(failures ? ['failure'] : [])];
  const [line, rule, ...rest] = table(head, cells);
  return [
    ...[line, rule.replace('---:', '---'), ...rest],
    ...notes(),
    ...without.map(({ name, reason }) => `\`${name}\` is left out: ${reason}.`),
    '',
  ];
}

function notes() {
  const counts = [...new Set(rows.map(({ atOnce }) => atOnce))];
  const few = Math.min(...counts);
  return [
    `${THREADS} client threads with ${CONNECTIONS} connections each (over HTTP/1 as many as Node's agent opens) keep ` +
      `${Math.max(...counts)} tasks each under way, of payloads ${few}. Nothing is pinned. A task ends when its bytes are ` +
      'with the kernel in the rows heartbeat, no response and those of payloads; otherwise when its answer came, and in ' +
      'acknowledged rows that is sent after the payload was read completely. No response, acknowledged, is the short ' +
      'response. Over HTTP/2 a heartbeat is a ping with its acknowledgement, and a row without an answer ends when the ' +
      'request is written, which flow control ties to what the server has read. Servers count what comes: every finished ' +
      'task was one message, or one byte of heartbeat.',
    '',
  ];
}
