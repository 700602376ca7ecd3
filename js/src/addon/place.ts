/**
 * Whether this code is in its package, whose files have their own names, or in a bundle, in which a bundler joined many
 * files. Searches for no file.
 */

import path from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Whether this code is in a bundle. Bundlers give modules a `module` object of their own, which has no file name.
 * `__filename` is not reliable: Bun's bundler replaces it by the name of the source, and does the same with a literal
 * `module.filename`.
 */
export const IS_BUNDLED = typeof module !== 'object' || !hasFile(module);

function hasFile(own: Partial<NodeModule>): boolean {
  return typeof own.filename === 'string';
}

/** The folder of our compiled code and, through source maps, of its sources. Undefined in a bundle. */
export const OWN_FOLDER = IS_BUNDLED ? undefined : path.join(__dirname, '..');

let url: string | undefined;

/**
 * Sets the `import.meta.url` of an ES module of ours. In a bundle of ES modules, nothing else tells where the bundle
 * is.
 */
export function tellPlace(importMetaUrl: string | undefined): void {
  url ??= importMetaUrl;
}

/**
 * Folders that may have the files of a bundle, the most likely first. Some bundlers write the folders of the sources
 * there.
 */
export function bundleFolders(): string[] {
  const files = [
    url?.startsWith('file:') ? fileURLToPath(url) : undefined,
    typeof __filename === 'string' ? __filename : undefined,
    process.argv[1],
    process.execPath,
  ];
  const folders = files.flatMap((file) => (file !== undefined && path.isAbsolute(file) ? [path.dirname(file)] : []));
  return [...new Set(folders)];
}
