/** MessagePack, by `msgpackr`, which is loaded when it is first used. Owns the dialect. */

import type { Packr } from 'msgpackr';

let made: Packr | undefined;

/** Packs and unpacks: objects become maps, and maps become objects again. */
export function packer(): Packr {
  if (made === undefined) {
    const msgpackr: typeof import('msgpackr') = require('msgpackr');
    made = new msgpackr.Packr({ useRecords: false });
  }
  return made;
}
