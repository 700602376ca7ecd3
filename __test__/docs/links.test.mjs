// Links between the pages lead somewhere, and the index of docs/ has every page. And the lists that pages show are
// those of the code.
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';

import { anchorsOf, deadLink, linksOf, replaceLinks } from '../../scripts/page-links.mjs';
import { pages, ROOT, readPage } from '../support/markdown.mjs';
import * as millrace from '../support/millrace.mjs';

const here = [
  ...(await pages()),
  'benchmark/README.md',
  'benchmark/instructions/README.md',
  'benchmark/study/README.md',
];
const decisions = (await readdir(path.join(ROOT, 'docs/decisions'))).map((name) => `docs/decisions/${name}`);
const texts = new Map(await Promise.all([...here, ...decisions].map(async (page) => [page, await readPage(page)])));

/** A path in code, `crates/core/src/lib.rs`: with a folder of ours in front, and an ending. */
const FILE = /`((?:crates|js|__test__|docs|scripts|fuzz|benchmark|examples|npm|\.github)\/[\w./-]*\.\w+)`/g;
/** What is built, or has another name on each machine. */
const MADE = /^(js\/(dist|native)|benchmark\/results)\//;
const there = (folder, file) => existsSync(path.join(ROOT, folder, file));

const repository = {
  exists: (file) => existsSync(path.join(ROOT, file)),
  textOf: (page) => texts.get(page),
};
const broken = (page, link) => deadLink(page, link, repository);

/** The folders of examples/ that a page does not link to. */
const unnamed = (page, folders) => folders.filter((name) => !texts.get(page).includes(`examples/${name}`));

test('README.md and docs/examples.md name every example', async (t) => {
  const entries = await readdir(path.join(ROOT, 'examples'), { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  t.true(folders.length > 15);
  for (const page of ['README.md', 'docs/examples.md']) t.deepEqual(unnamed(page, folders), [], page);
  t.deepEqual(unnamed('README.md', ['chat', 'nothing']), ['nothing']);
});

test('every link leads somewhere', (t) => {
  const links = [...texts].flatMap(([page, text]) => linksOf(text).map((link) => [page, link]));
  t.true(links.length > 50);
  t.deepEqual(
    links.map(([page, link]) => broken(page, link)).filter((problem) => problem !== undefined),
    [],
  );
  t.regex(broken('README.md', 'docs/nothing.md'), /there is no docs\/nothing\.md/);
  t.regex(broken('README.md', 'docs/limits.md#nothing'), /no heading #nothing/);
});

test('no page sends anybody to an address of the project that package.json does not name', async (t) => {
  const { repository, homepage } = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8'));
  const known = `${repository?.url} ${homepage}`;
  const named = [...texts].flatMap(([page, text]) =>
    [...text.matchAll(/\b(?:github\.com\/millrace|npmjs\.com\/package\/millrace)\b/g)].map(([address]) => [
      page,
      address,
    ]),
  );
  t.deepEqual(
    named.filter(([, address]) => !known.includes(address)),
    [],
  );
});

test('headings with one text have anchors of their own, and brackets in code are no links', (t) => {
  t.deepEqual(anchorsOf('# A b\n\n## `c(d)`, e\n\n```sh\n# no\n```\n\n## A b\n'), ['a-b', 'cd-e', 'a-b-1']);
  t.deepEqual(linksOf('[`a`](b.md#c) `[d](e)` ![f](g.png)\n\n```js\n[h](i)\n```\n'), ['b.md#c', 'g.png']);
});

test('a link to what is not at hand becomes its path', (t) => {
  const text =
    'See [the `a`](../x/a.md#b), [x/c](../x/c), [here](b.md#d), `[no](../x/c)` and [out](https://a.example).\n';
  t.is(
    replaceLinks(text, 'docs/p.md', (target, _anchor, link) => (target === 'docs/b.md' ? link : undefined)),
    'See the `a` (`x/a.md` in the repository), `x/c` in the repository, [here](b.md#d), `[no](../x/c)` and [out](https://a.example).\n',
  );
});

test('every file that a page names exists', (t) => {
  const named = [...texts].flatMap(([page, text]) =>
    [...text.matchAll(FILE)].map(([, file]) => [page, file]).filter(([, file]) => !MADE.test(file)),
  );
  t.true(named.length > 20);
  const missing = named.filter(
    ([page, file]) => ![path.posix.dirname(page), '.'].some((folder) => there(folder, file)),
  );
  t.deepEqual(missing, []);
});

test('the index of docs/ has every page', (t) => {
  const linked = linksOf(texts.get('docs/README.md')).map((link) => path.posix.join('docs', link));
  const missing = here.filter(
    (page) => page.startsWith('docs/') && page !== 'docs/README.md' && !linked.includes(page),
  );
  t.deepEqual(missing, []);
});

test('the list of decisions has every decision', (t) => {
  const linked = linksOf(texts.get('docs/decisions/README.md')).map((link) => `docs/decisions/${link}`);
  t.deepEqual(
    decisions.filter((page) => !page.endsWith('/README.md') && !linked.includes(page)),
    [],
  );
});

test('the page of error codes has exactly the codes that the package exports', (t) => {
  const rows = [...texts.get('docs/errors.md').matchAll(/^\| `(\w+)` \| (.*) \|$/gm)];
  const shown = Object.fromEntries(rows.map(([, code, meaning]) => [code, meaning]));
  t.deepEqual(shown, { ...millrace.ERROR_CODES });
});

test('the table of platforms has every platform package', async (t) => {
  const rows = [...texts.get('README.md').matchAll(/^\| .* \| `millrace-([\w-]+)` \|$/gm)].map(([, name]) => name);
  t.deepEqual(rows.sort(), (await readdir(path.join(ROOT, 'npm'))).sort());
});

test('the list of steps is that of npm test', async (t) => {
  const [, list] = /The steps are: ([\s\S]*?)\./.exec(texts.get('CONTRIBUTING.md'));
  const source = await readFile(path.join(ROOT, 'scripts/test.mjs'), 'utf8');
  const steps = [...source.matchAll(/^ {2}\{ name: '([\w-]+)'/gm)].map(([, name]) => name);
  t.true(steps.length > 5);
  t.deepEqual(list.split(/,\s+/), steps);
});

test('the tables of options and handlers are those of the code', async (t) => {
  const tables = [
    [
      'docs/getting-started.md',
      [
        ['js/src/options/start-options.ts', 'START_KEYS'],
        ['js/src/protocols/http-protocol.ts', 'HTTP_KEYS'],
      ],
    ],
    // the native side knows nothing of a worker's first and last
    ['docs/workers.md', [['js/src/worker/kinds.generated.ts', 'HANDLERS']], ['handleStart', 'handleStop']],
  ];
  for (const [page, lists, more = []] of tables) {
    const listed = await Promise.all(lists.map(([file, list]) => namesIn(file, list)));
    // what `nodeHandler` makes is found by no name
    const names = [...listed.flat(), ...more].filter((name) => name !== 'nodeListener').sort();
    const cells = [...texts.get(page).matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell]) => cell.match(/(?<=`)\w+/g));
    t.deepEqual(cells.filter((name) => name !== null).sort(), names, page);
  }
});

/** The texts of a constant list, or the keys of a constant object. */
async function namesIn(file, list) {
  const [, known] = new RegExp(`const ${list} = [[{]([^\\]}]*)[\\]}]`).exec(
    await readFile(path.join(ROOT, file), 'utf8'),
  );
  const names = [...known.matchAll(/'(\w+)'|(\w+):/g)].map(([, text, key]) => text ?? key);
  if (names.length <= 5) throw new Error(`${list} in ${file} is not what this test reads`);
  return names;
}
