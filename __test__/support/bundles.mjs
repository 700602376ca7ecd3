// The commands of docs/bundlers.md, section by section.
import path from 'node:path';

import { blocksOf, ROOT, readPage } from './markdown.mjs';

/** Whether to download and test Next.js. */
export const NEXT_IS_ASKED = process.env.MILLRACE_TEST_NEXT === '1';

/**
 * The commands in a section of a page, one per line. Commands with npx run the programs of this repository.
 *
 * @param {string} page
 * @param {string} heading
 * @returns {Promise<string[]>}
 */
export async function commandsUnder(page, heading) {
  const lines = (await readPage(page)).split('\n');
  const first = lines.indexOf(`## ${heading}`);
  if (first === -1) throw new Error(`${page} has no section ${heading}`);
  const next = lines.findIndex((line, index) => index > first && line.startsWith('## '));
  const last = next === -1 ? lines.length : next;
  const blocks = (await blocksOf(page)).filter(
    ({ language, line }) => language === 'sh' && line > first && line <= last,
  );
  return blocks.flatMap(({ code }) => code.trim().split('\n').map(withoutNpx));
}

function withoutNpx(command) {
  return command.replace(/^npx (\S+)/, (_, program) => path.join(ROOT, 'node_modules/.bin', program));
}
