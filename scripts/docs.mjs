// `npm run docs`: one static site of the guides, the decisions and the API reference, into target/site/dist. Fails if a
// link or an anchor is dead. `--base /path/` is for a site that is not at the root of its host, `--rust` also builds
// the documentation of the crates.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { Failure, fail, ROOT, run, tool } from './process.mjs';
import { setUp } from './setup.mjs';
import { deadLinks } from './site/links.mjs';
import { onSite, sidebar, siteImages, sitePages } from './site/pages.mjs';

/** The folder of all output: the pages, and the site in `dist`. */
const SITE = path.join(ROOT, 'target/site');

/** The crates are not published: readers of their documentation have the sources, and benefit from links to private items. */
const RUSTDOCFLAGS = '-D warnings -A rustdoc::private_intra_doc_links';

/**
 * @param {{base?: string, rust?: boolean}} [options] where on its host the site lies; whether the crates, too
 * @throws {Failure} when something cannot be made, or a link leads nowhere
 */
export async function makeDocs({ base = '/', rust = false } = {}) {
  await setUp({ addon: false });
  rmSync(SITE, { recursive: true, force: true });
  mkdirSync(SITE, { recursive: true });
  // typedoc first: it writes its pages into a folder of the others
  await run([...tool('typedoc'), '--out', path.join(SITE, 'api'), '--navigationJson', path.join(SITE, 'api.json')]);
  writePages();
  const vitepress = [...tool('vitepress'), 'build', SITE, '--base', base];
  await run(vitepress, { env: { MILLRACE_SITE: SITE } });
  const dead = deadLinks(path.join(SITE, 'dist'), base);
  if (dead.length > 0) throw new Failure(`links of the site that lead nowhere:\n${dead.join('\n')}`);
  if (rust) await run(['cargo', 'doc', '--no-deps', '--workspace'], { env: { RUSTDOCFLAGS } });
  console.log('\ntarget/site/dist is the site; to look at it: npx vitepress preview target/site');
}

/** The pages, their images and the navigation, as VitePress reads them. */
function writePages() {
  const pages = sitePages();
  for (const page of pages) write(page.place, onSite(page, pages));
  for (const { source, place } of siteImages()) copy(source, path.join('public', place));
  copy('scripts/site/logo.svg', 'public/logo.svg');
  copy('scripts/site/index.md', 'index.md');
  const { name, version, description } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
  const title = name[0].toUpperCase() + name.slice(1);
  const api = apiSidebars(JSON.parse(readFileSync(path.join(SITE, 'api.json'), 'utf8')));
  write('navigation.json', JSON.stringify({ title, description, version, sidebar: sidebar(pages), api }));
  // VitePress expects both beside the pages
  write('.vitepress/config.mjs', `export { default } from '${fromSite('scripts/site/config.mjs')}';\n`);
  write('.vitepress/theme/index.mjs', `export { default } from '../${fromSite('scripts/site/theme/index.mjs')}';\n`);
}

/**
 * A list of all modules, then the members of each module by kind. A list of everything would be part of every page, and
 * larger than most pages.
 */
function apiSidebars(tree) {
  const modules = modulesOf(tree);
  const item = ({ title, path: file, children }) => ({
    text: title,
    ...(file && { link: placeOfApi(file) }),
    ...(children && { collapsed: false, items: children.map(item) }),
  });
  const all = modules.map(({ title, path: file }) => ({ text: title, link: placeOfApi(file) }));
  const lists = modules.map(({ title, path: file, children }) => [
    placeOfApi(file),
    [
      { text: 'API', link: '/api/', items: all },
      { text: title, items: children.map(item) },
    ],
  ]);
  return Object.fromEntries([['/api/', [{ text: 'API', link: '/api/', items: all }]], ...lists]);
}

/** `millrace/http` is below `millrace` by name, but is a separate module. */
function modulesOf(tree, parent = '') {
  return tree.flatMap(({ title, children, ...rest }) => {
    const isModule = (child) => child.path?.endsWith('/index.md') === true;
    const own = { ...rest, title: `${parent}${title}`, children: children.filter((child) => !isModule(child)) };
    return [own, ...modulesOf(children.filter(isModule), `${parent}${title}/`)];
  });
}

function placeOfApi(file) {
  return `/api/${file.replace(/(?:index)?\.md$/, '')}`;
}

function write(place, text) {
  const file = path.join(SITE, place);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function copy(source, place) {
  cpSync(path.join(ROOT, source), path.join(SITE, place), { recursive: true });
}

/** An import's path from the folder of the configuration. */
function fromSite(file) {
  return path.relative(path.join(SITE, '.vitepress'), path.join(ROOT, file)).replaceAll(path.sep, '/');
}

function options(args) {
  const chosen = {};
  for (let at = 0; at < args.length; at += 1) {
    if (args[at] === '--rust') chosen.rust = true;
    else if (args[at] === '--base' && /^\/(?:.*\/)?$/.test(args[at + 1] ?? '')) chosen.base = args[++at];
    else throw new Failure(`unknown argument ${args[at]}; there are --base /path/ and --rust`);
  }
  return chosen;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    await makeDocs(options(process.argv.slice(2)));
  } catch (error) {
    fail(error);
  }
}
