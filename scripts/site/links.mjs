// Checks that every link of a built site leads to one of its pages, and every anchor to an element of that page. Reads
// the built HTML, so it works for any generator.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

/**
 * @param {string} folder of the site
 * @param {string} base where it lies on its host
 * @returns {string[]} what leads nowhere, one a line
 */
export function deadLinks(folder, base = '/') {
  const files = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.html'));
  const pages = new Map(files.map((name) => [name.replaceAll(path.sep, '/'), readPage(path.join(folder, name))]));
  const problems = new Set();
  for (const [page, { links }] of pages) {
    for (const link of links) {
      const problem = problemOf(link, page, base, pages, folder);
      if (problem !== undefined) problems.add(`${page}: ${problem}`);
    }
  }
  return [...problems].sort();
}

function readPage(file) {
  const text = readFileSync(file, 'utf8').replaceAll(/<script[\s\S]*?<\/script>/g, '');
  const all = (pattern) => [...text.matchAll(pattern)].map(([, value]) => unescaped(value));
  return { links: new Set(all(/\s(?:href|src)="([^"]*)"/g)), ids: new Set(all(/\sid="([^"]*)"/g)) };
}

function problemOf(link, page, base, pages, folder) {
  const url = new URL(link, `http://site${base}${page}`);
  if (url.host !== 'site' || !url.protocol.startsWith('http')) return undefined;
  if (!url.pathname.startsWith(base)) return `${link} is not below ${base}`;
  const target = decodeURIComponent(url.pathname.slice(base.length));
  const names = [target, `${target}.html`, path.posix.join(target, 'index.html')];
  const name = names.find((one) => existsSync(path.join(folder, one)) && statSync(path.join(folder, one)).isFile());
  if (name === undefined) return `there is no ${link}`;
  const anchor = decodeURIComponent(url.hash.slice(1));
  if (anchor === '' || pages.get(name)?.ids.has(anchor)) return undefined;
  return `${name} has no #${anchor}`;
}

function unescaped(text) {
  return text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&lt;', '<').replaceAll('&amp;', '&');
}
