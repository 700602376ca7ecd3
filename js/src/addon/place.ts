/**
 * Where this code lies: in its package, where its files have their own names, or in a bundle, where a bundler has made one
 * file of many. Owns how the two are told apart. Looks for nothing.
 */

import path from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Whether a bundler has taken this code out of its package. Bundlers give modules an object `module` of their own, without the
 * file's name. `__filename` says nothing: Bun's bundler writes the name of the source there, as it does for `module.filename`
 * where that is spelled out.
 */
export const IS_BUNDLED = typeof module !== 'object' || !hasFile(module);

function hasFile(own: Partial<NodeModule>): boolean {
  return typeof own.filename === 'string';
}

/** The folder of our compiled code and, by its source maps, of its sources; undefined in a bundle. */
export const OWN_FOLDER = IS_BUNDLED ? undefined : path.join(__dirname, '..');

let url: string | undefined;

/** An ES module of ours tells its `import.meta.url`: in a bundle of ES modules nothing else says where the bundle is. */
export function tellPlace(importMetaUrl: string | undefined): void {
  url ??= importMetaUrl;
}

/** Where files that belong to the bundle may lie, the likelier first. Some bundlers write folders of the sources there. */
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
