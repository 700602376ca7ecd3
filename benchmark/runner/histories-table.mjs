// The table of the scenario `histories`: one line for each number of publications in flight and kind of channel.
import { show, table } from './cells.mjs';
import { flights, SUBSCRIBERS } from './histories.mjs';

/** The lines below the title. */
export function rowsDetails({ peers, columns }) {
  const failures = Object.values(peers).some(({ error }) => error);
  const of = (kind, flight) => peers[kind]?.rows[flight];
  const cells = flights.flatMap((flight) =>
    Object.keys(peers).map((kind) => {
      const { figures, error } = of(kind, flight) ?? {};
      const ratio = figures?.delivery_us / of('plain', flight)?.figures?.delivery_us;
      const failure = failures ? [error?.replaceAll('\n', ' ').replaceAll('|', '\\|') ?? ''] : [];
      return [flight, kind, ...columns.map(([field]) => show(figures?.[field])), show(ratio), ...failure];
    }),
  );
  const headings = columns.map(([, heading]) => heading);
  const head = ['in flight', 'channel', ...headings, 'µs/delivery / plain', ...(failures ? ['failure'] : [])];
  return [
    ...table(head, cells),
    `Two nodes on one Redis, ${SUBSCRIBERS} subscribers on each, one publisher on the first, messages of 64 bytes. \`plain\` is a ` +
      'channel without terms, `history` one that keeps 100 messages in Redis. CPU of a delivery is that of both nodes, ' +
      'without Redis, which has a column of its own. Latency is from the publisher to a subscriber of the other node.',
    '',
  ];
}
