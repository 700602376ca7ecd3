// The code in README.md, the guides and the other pages, as readers see it.
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..');

/**
 * A fenced block. A comment before it, which readers do not see, may add information:
 * `<!-- given: declare const socketId: number; -->` has the declarations that a fragment needs to compile, and
 * `<!-- not checked: why -->` excludes the block from checks.
 *
 * @typedef {object} Block
 * @property {string} page "docs/workers.md"
 * @property {number} line of its fence
 * @property {string} language "js"; empty: none is given
 * @property {string} code
 * @property {string | undefined} file the name in its first line, "worker.mjs"; undefined: a fragment
 * @property {string} given
 * @property {string | undefined} exception why it is not checked
 */

/** Every page with code for users and contributors, as paths from the root. */
export async function pages() {
  const inFolder = async (folder) => {
    const names = await readdir(path.join(ROOT, folder));
    return names.filter((name) => name.endsWith('.md')).map((name) => path.posix.join(folder, name));
  };
  const examples = await readdir(path.join(ROOT, 'examples'), { withFileTypes: true });
  const folders = ['', 'docs', ...examples.filter((e) => e.isDirectory()).map(({ name }) => `examples/${name}`)];
  return (await Promise.all(folders.map(inFolder))).flat().sort();
}

export function readPage(page) {
  return readFile(path.join(ROOT, page), 'utf8');
}

/** @returns {Promise<Block[]>} */
export async function blocksOf(page) {
  const found = (await readPage(page)).matchAll(FENCED);
  return [...found].map(({ index, input, groups: { mark, value, indent, language, code: indented } }) => {
    const code = indented.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
    return {
      page,
      line: input.slice(0, index).split('\n').length + (mark === undefined ? 0 : 2),
      language,
      code,
      file: /^(?:\/\/|#) (\S+\.\w+)\n/.exec(code)?.[1],
      given: mark === 'given' ? value : '',
      exception: mark === 'not checked' ? value : undefined,
    };
  });
}

/** The code of a page's file. */
export async function fileOf(page, name) {
  const block = (await blocksOf(page)).find(({ file }) => file === name);
  if (block === undefined) throw new Error(`${page} has no block that begins with its name, ${name}`);
  return block.code;
}

/** The name of a block in failures: "docs/workers.md:12". */
export function placeOf({ page, line }) {
  return `${page}:${line}`;
}

/** In a list, a block is indented with its item. */
const FENCED =
  /^(?: *<!-- (?<mark>given|not checked): (?<value>.*?) -->\n\n)?(?<indent> *)```(?<language>[\w-]*)\n(?<code>[\s\S]*?)^\k<indent>```$/gm;
