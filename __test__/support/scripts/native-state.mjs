// The native state of this thread with the addon's file, and, on systems with /proc, how many images of the addon the
// process has mapped.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { binding } from '../../../js/dist/addon/binding.js';

export default function nativeState() {
  const known = { state: binding().state, file: fileURLToPath(binding().file) };
  if (!existsSync('/proc/self/maps')) return { ...known, images: 1 };
  const mapped = readFileSync('/proc/self/maps', 'utf8')
    .split('\n')
    .filter((line) => /\.node( \(deleted\))?$/.test(line));
  // device and inode: fields 4 and 5
  const images = new Set(mapped.map((line) => line.split(/\s+/).slice(3, 5).join(' ')));
  return { ...known, images: images.size };
}
