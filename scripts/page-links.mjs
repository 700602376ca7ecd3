// The links of our Markdown pages: finds them, checks their targets, and rewrites them for the package and the site,
// which do not have all files of the repository. Reads and writes no files.
import path from 'node:path';

/** Code in fences and within lines, whose brackets are not links. */
const CODE = / *```[\s\S]*?^ *```$|`[^`\n]*`/gm;

/** A link or an image, whose label may contain code; also matches code, so that it is skipped. */
const LINK =
  /(?<code>^ *```[\s\S]*?^ *```$)|(?<image>!?)\[(?<label>(?:[^[\]`]|`[^`]*`)*)\]\((?<link>[^)\s]+)\)|(?<inline>`[^`\n]*`)/gm;

/**
 * The targets of links and images, as they are written.
 *
 * @param {string} text of a page
 */
export function linksOf(text) {
  return [...text.replaceAll(CODE, '').matchAll(/\]\(([^)\s]+)\)|src="([^"]+)"/g)].map(
    ([, link, image]) => link ?? image,
  );
}

/**
 * The anchors of a page's headings, as GitHub makes them.
 *
 * @param {string} text of a page
 */
export function anchorsOf(text) {
  const seen = new Map();
  return [...text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '').matchAll(/^#+ (.*)$/gm)].map(([, title]) => {
    const anchor = anchorOf(title);
    const times = seen.get(anchor) ?? 0;
    seen.set(anchor, times + 1);
    return times === 0 ? anchor : `${anchor}-${times}`;
  });
}

/**
 * The anchor of a heading, which need not be the first with this text.
 *
 * @param {string} title
 */
export function anchorOf(title) {
  return title
    .toLowerCase()
    .replaceAll(/\]\([^)]*\)/g, '')
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}

/**
 * Why a link is dead; undefined: it is not, or it leads to another site.
 *
 * @param {string} page from the root, such as `docs/workers.md`
 * @param {string} link as it is written there
 * @param {{exists: (file: string) => boolean, textOf: (page: string) => string | undefined}} all of what is at hand
 */
export function deadLink(page, link, { exists, textOf }) {
  if (/^[a-z]+:/.test(link)) return link.startsWith('https://') ? undefined : `${page}: ${link} is no https address`;
  const [target, anchor] = targetOf(page, link);
  if (!exists(target)) return `${page}: there is no ${target}`;
  if (anchor === undefined || anchorsOf(textOf(target) ?? '').includes(anchor)) return undefined;
  return `${page}: ${target} has no heading #${anchor}`;
}

/**
 * The file that a relative link leads to, from the root, and the anchor in it.
 *
 * @param {string} page
 * @param {string} link
 * @returns {[string, string | undefined]}
 */
export function targetOf(page, link) {
  const [file = '', anchor] = link.split('#');
  return [file === '' ? page : path.posix.join(path.posix.dirname(page), file), anchor];
}

/**
 * The page with each relative link replaced by the one that `place` returns for its target. If `place` returns none,
 * the label stays, followed by the target's path.
 *
 * @param {string} text
 * @param {string} page
 * @param {(target: string, anchor: string | undefined, link: string) => string | undefined} place
 */
export function replaceLinks(text, page, place) {
  return text.replaceAll(LINK, (whole, ...rest) => {
    const { image, label, link } = rest.at(-1);
    if (link === undefined || /^[a-z]+:/.test(link)) return whole;
    const [target, anchor] = targetOf(page, link);
    const placed = place(target, anchor, link);
    if (placed !== undefined) return `${image}[${label}](${placed})`;
    const bare = label.replaceAll('`', '');
    const named = target.replace(/\/$/, '');
    return bare === named ? `\`${named}\` in the repository` : `${label} (\`${named}\` in the repository)`;
  });
}
