// The tables of the scenario `splice`: round trips and one way, one line for each row and peer.
import { show, table } from './cells.mjs';
import { rows } from './splice-rows.mjs';

const parts = {
  'round-trip': {
    title: 'Round trips: one message outstanding for each target, which sends it back.',
    fields: ['per_second', 'relayed_us', 'p50_us', 'p99_us', 'p99_ratio'],
  },
  flow: {
    title: 'One way: clients write up to 32 messages at a time, the targets count.',
    fields: ['per_second', 'payload_mibit', 'relayed_us'],
  },
  apart: {
    title: 'One way, each message a write of its own, as those of the clients of the original benchmark.',
    fields: ['per_second', 'payload_mibit', 'relayed_us'],
  },
};
const shares = ['server_share', 'generator_share', 'upstream_share'];

/** The lines below the title. */
export function rowsDetails({ peers, columns, without }) {
  const lines = Object.entries(parts).flatMap(([part, { title, fields }]) => {
    const shown = [...fields, ...shares].map((field) => columns.find(([name]) => name === field));
    return [title, '', ...partOf(part, shown, peers)];
  });
  return [...lines, ...notes(), ...without.map(({ name, reason }) => `\`${name}\` is left out: ${reason}.`), ''];
}

function partOf(part, columns, peers) {
  const failures = Object.values(peers).some(({ error }) => error);
  const cells = rows
    .filter((row) => row.part === part)
    .flatMap((row) =>
      Object.entries(peers)
        .filter(([, found]) => found.rows[row.name])
        .map(([peer, found]) => {
          const { figures, error } = found.rows[row.name];
          const name = `${peer === 'epoll' ? 'direct' : peer}${figures?.generator_is_the_limit ? ' *' : ''}`;
          const failure = failures ? [error?.replaceAll('\n', ' ').replaceAll('|', '\\|') ?? ''] : [];
          return [
            `${row.clients} × ${row.targets}`,
            row.size,
            name,
            ...columns.map(([field]) => show(figures?.[field])),
            ...failure,
          ];
        }),
    );
  const headings = columns.map(([, heading]) => heading);
  const head = ['clients × targets', 'bytes', 'peer', ...headings, ...(failures ? ['failure'] : [])];
  const [line, rule, ...rest] = table(head, cells);
  return [line, rule.replace('---: | ---:', '---: | ---'), ...rest];
}

function notes() {
  return [
    'Bytes are those of a message with its index of two, as in the benchmark of the original; a target gets two fewer, and ' +
      'so does it directly. *Direct* is as many connections to the same target as the multiplexer has to its targets; ' +
      'its busy server is the target. A round trip is relayed twice. CPU is that of the whole process, the system included. ' +
      'One way, what counts is what the targets say that they had, in messages and bytes.',
    '',
    '\\* Clients or targets were the limit: of throughput this says only that it is at least so much.',
    '',
  ];
}
