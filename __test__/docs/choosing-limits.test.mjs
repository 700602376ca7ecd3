// The defaults in the guide to limits are those of the generated list.
import test from 'ava';

import { readPage } from '../support/markdown.mjs';

/** The rows of all tables: `[name, the other cells]`, of those that begin with one name in code. */
function rowsOf(text) {
  const rows = [...text.matchAll(/^\| `(\w+)` \| (.*) \|$/gm)];
  return rows.map(([, name, cells]) => [name, cells.split(' | ')]);
}

const known = new Map(rowsOf(await readPage('docs/limits.md')).map(([name, [value]]) => [name, value]));
const guide = await readPage('docs/choosing-limits.md');

test('the guide gives the defaults of the code', (t) => {
  const rows = rowsOf(guide);
  t.true(rows.length > 25, `${rows.length} rows`);
  for (const [name, [value]] of rows) t.is(value, known.get(name), name);
});

test('the defaults in the table of memory are those of the code', (t) => {
  const [table] = guide.slice(guide.indexOf('| what | bound |')).split('\n\n');
  const rows = [...table.matchAll(/^\| [^|`]* \| `(\w+)`[^|]* \| ([^|]*) \|$/gm)];
  t.true(rows.length > 8, `${rows.length} rows`);
  for (const [, name, value] of rows) t.is(value, known.get(name), name);
});

test('every limit that the guide names exists', (t) => {
  const names = [...guide.matchAll(/`(\w+(?:Ms|Bytes|Per\w+|Events|Frames|Channels))`/g)].map(([, name]) => name);
  t.true(names.length > 40);
  // `outboxBytes(socketId)` and the figures of `stats` have names of their own
  const figures = ['inboundBytes', 'memoryBytes', 'ageMs'];
  t.deepEqual(
    names.filter((name) => !known.has(name) && !figures.includes(name)),
    [],
  );
});
