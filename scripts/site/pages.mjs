// Decides which pages the site has, where each of them is, and in which order they are listed. Has nothing to do with
// their look.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { replaceLinks } from '../page-links.mjs';
import { ROOT } from '../process.mjs';

/** The pages in the order of their subjects. Missing pages are left out; guides without a subject come last. */
const SUBJECTS = [
  ['Begin', ['README', 'docs/getting-started', 'docs/examples', 'docs/command-line', 'docs/runtimes']],
  [
    'Sockets and channels',
    [
      'docs/channels',
      'docs/history',
      'docs/presence',
      'docs/client',
      'docs/calls',
      'docs/workers',
      'docs/authentication',
      'docs/guarantees',
      'docs/backpressure',
      'docs/websocket',
      'docs/compression',
      'docs/millrace-v1',
    ],
  ],
  [
    'HTTP',
    [
      'docs/http-app',
      'docs/node-handler',
      'docs/attach',
      'docs/crossws',
      'docs/fetch',
      'docs/static-files',
      'docs/server-sent-events',
      'docs/http',
    ],
  ],
  [
    'Other protocols',
    [
      'docs/resp',
      'docs/tcp',
      'docs/tcp-server',
      'docs/splice',
      'docs/splice-client',
      'docs/sockety',
      'docs/sockety-wire',
      'docs/sockets',
    ],
  ],
  [
    'In production',
    [
      'docs/deployment',
      'docs/tls',
      'docs/behind-a-proxy',
      'docs/scaling',
      'docs/choosing-limits',
      'docs/monitoring',
      'docs/admin',
      'docs/logging',
    ],
  ],
  [
    'Coming from',
    [
      'docs/migrating-from-ws',
      'docs/migrating-from-socket-io',
      'docs/migrating-from-centrifugo',
      'docs/migrating-from-uwebsockets',
      'docs/migrating-from-warpsocket',
    ],
  ],
  ['Reference', ['docs/limits', 'docs/errors']],
  [
    'The project',
    [
      'ARCHITECTURE',
      'docs/decisions/README',
      'CHANGELOG',
      'CONTRIBUTING',
      'SECURITY',
      'docs/releasing',
      'benchmark/README',
      'benchmark/results/latest/results',
    ],
  ],
];

/** Replaced on the site by its home page and its navigation. */
const REPLACED = ['docs/README.md'];

/**
 * @typedef {object} Page
 * @property {string} source from the root, `docs/workers.md`
 * @property {string} place on the site, `workers.md`
 * @property {string} title
 * @property {string} text as it is in the repository
 */

/** @returns {Page[]} every page, those of a subject in its order */
export function sitePages() {
  const listed = SUBJECTS.flatMap(([, names]) => names.map((name) => `${name}.md`));
  const sources = [...new Set([...listed, ...inFolder('docs'), ...inFolder('docs/decisions'), ...examples()])];
  return sources
    .filter((source) => !REPLACED.includes(source) && existsSync(path.join(ROOT, source)))
    .map((source) => {
      const text = readFileSync(path.join(ROOT, source), 'utf8');
      const title = source === 'README.md' ? 'Overview' : (/^# (.*)$/m.exec(text)?.[1].replaceAll('`', '') ?? source);
      return { source, place: placeOf(source), title, text };
    });
}

/**
 * The sidebar, by subject.
 *
 * @param {Page[]} pages
 */
export function sidebar(pages) {
  const item = ({ place, title }) => ({ text: title, link: `/${place.replace(/(?:index)?\.md$/, '')}` });
  const bySource = new Map(pages.map((page) => [page.source, page]));
  const named = new Set(SUBJECTS.flatMap(([, names]) => names.map((name) => `${name}.md`)));
  const inside = (folder) => pages.filter(({ source }) => path.dirname(source) === folder && !named.has(source));
  const groups = SUBJECTS.map(([text, names]) => {
    const items = names.flatMap((name) => bySource.get(`${name}.md`) ?? []).map(item);
    return { text, collapsed: false, items };
  });
  const others = inside('docs').map(item);
  const ofExamples = pages.filter(({ source }) => source.startsWith('examples/')).map(item);
  return [
    ...groups,
    ...(others.length > 0 ? [{ text: 'More guides', collapsed: false, items: others }] : []),
    { text: 'Examples', collapsed: true, items: ofExamples },
    { text: 'Decisions', collapsed: true, items: inside('docs/decisions').map(item) },
  ];
}

/**
 * A page for the site: links lead to its other pages; links to other files become their paths.
 *
 * @param {Page} page
 * @param {Page[]} pages
 */
export function onSite({ source, text }, pages) {
  const places = new Map(pages.map((page) => [page.source, page.place]));
  places.set('docs/README.md', 'index.md');
  const place = (target, anchor) => {
    const plain = target.replace(/\/$/, '');
    if (isImage(plain)) return `/${imagePlace(plain)}`;
    const found = places.get(plain) ?? places.get(`${plain}/README.md`) ?? placeOfExample(plain, places);
    return found === undefined ? undefined : `/${found}${anchor === undefined ? '' : `#${anchor}`}`;
  };
  // VitePress does not rewrite HTML elements, so their paths start at the site's root
  return replaceLinks(text, source, place).replaceAll(/src="images\//g, 'src="/images/');
}

/** The images of all pages: source, and destination below the site's root. */
export function siteImages() {
  return ['docs/images', 'benchmark/results/latest/plots'].flatMap((folder) =>
    readdirSync(path.join(ROOT, folder)).map((name) => ({
      source: `${folder}/${name}`,
      place: imagePlace(`${folder}/${name}`),
    })),
  );
}

/** `docs/workers.md` is `workers.md`; a folder's page is its index. */
function placeOf(source) {
  if (source === 'README.md') return 'overview.md';
  if (source === 'benchmark/README.md') return 'benchmark.md';
  if (source.startsWith('benchmark/results/')) return 'benchmark-results.md';
  const { dir, name } = path.posix.parse(source.replace(/^docs\//, ''));
  if (dir === '') return `${name.toLowerCase()}.md`;
  return dir.startsWith('examples/')
    ? `${dir}.md`
    : path.posix.join(dir, name === 'README' ? 'index.md' : `${name}.md`);
}

/** A file of an example leads to the example's page. */
function placeOfExample(target, places) {
  const [, folder] = /^(examples\/[^/]+)\//.exec(target) ?? [];
  return folder === undefined ? undefined : places.get(`${folder}/README.md`);
}

function isImage(target) {
  return /\.(?:png|svg)$/.test(target) && existsSync(path.join(ROOT, target));
}

function imagePlace(source) {
  const plot = /^benchmark\/results\/latest\/(plots\/.*)$/.exec(source)?.[1];
  return plot ?? source.replace(/^docs\//, '');
}

function inFolder(folder) {
  const names = readdirSync(path.join(ROOT, folder)).filter((name) => name.endsWith('.md'));
  return names.sort().map((name) => `${folder}/${name}`);
}

function examples() {
  const folders = readdirSync(path.join(ROOT, 'examples'), { withFileTypes: true });
  return folders.filter((folder) => folder.isDirectory()).map(({ name }) => `examples/${name}/README.md`);
}
