// The site before VitePress builds it: every page has its place, and every link leads to a page. The link checker finds
// the dead links of a built site.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'ava';

import { anchorsOf, linksOf } from './page-links.mjs';
import { ROOT } from './process.mjs';
import { deadLinks } from './site/links.mjs';
import { onSite, sidebar, siteImages, sitePages } from './site/pages.mjs';

const pages = sitePages();
const places = new Map(pages.map((page) => [`/${page.place}`, page]));

test('every guide and decision has a place of its own, and one line of the navigation', (t) => {
  const files = ['docs', 'docs/decisions'].flatMap((folder) =>
    readdirSync(path.join(ROOT, folder)).flatMap((name) => (name.endsWith('.md') ? [`${folder}/${name}`] : [])),
  );
  const sources = pages.map(({ source }) => source);
  t.deepEqual(
    files.filter((file) => file !== 'docs/README.md' && !sources.includes(file)),
    [],
  );
  t.is(places.size, pages.length);
  const links = sidebar(pages).flatMap(({ items }) => items.map(({ link }) => link));
  t.is(new Set(links).size, links.length);
  t.deepEqual(links.toSorted(), pages.map(({ place }) => `/${place.replace(/(?:index)?\.md$/, '')}`).toSorted());
});

test('every link of a page leads to a page of the site, and every anchor to a heading', (t) => {
  const images = new Set(siteImages().map(({ place }) => `/${place}`));
  const problemOf = (link) => {
    const [place, anchor] = link.split('#');
    if (link.startsWith('https://') || images.has(place) || place === '/index.md') return false;
    const page = places.get(place);
    return page === undefined || (anchor !== undefined && !anchorsOf(page.text).includes(anchor));
  };
  const dead = pages.flatMap((page) =>
    linksOf(onSite(page, pages)).flatMap((link) => (problemOf(link) ? [`${page.source}: ${link}`] : [])),
  );
  t.deepEqual(dead, []);
});

test('dead links and anchors of a built site are found', (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'millrace-site-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(path.join(folder, 'guide'));
  const page = (links) => links.map((link) => `<a href="${link}">x</a>`).join('\n');
  writeFileSync(path.join(folder, 'index.html'), `<h1 id="top">A</h1>${page(['guide/', 'guide/a', '#top', '#no'])}`);
  writeFileSync(
    path.join(folder, 'guide/index.html'),
    page(['a.html#here', '../', '/docs/none', 'https://a.example/#b']),
  );
  writeFileSync(
    path.join(folder, 'guide/a.html'),
    `<p id="here"></p>${page(['./#there', '/elsewhere', 'mailto:a@b'])}`,
  );
  t.deepEqual(deadLinks(folder, '/docs/'), [
    'guide/a.html: /elsewhere is not below /docs/',
    'guide/a.html: guide/index.html has no #there',
    'guide/index.html: there is no /docs/none',
    'index.html: index.html has no #no',
  ]);
});
