// Loads the package: as it resolves from here, or from its folder.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

export function load(folder) {
  if (folder === undefined) return import('warpsocket');
  return import(pathToFileURL(createRequire(import.meta.url).resolve(folder)).href);
}
