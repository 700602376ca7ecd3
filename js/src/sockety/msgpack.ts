/** MessagePack, by the library `msgpackr`, which is loaded on demand. Sets the options of the encoding. */

import type { Packr } from 'msgpackr';

let made: Packr | undefined;

/** The encoder and decoder. Objects are encoded as maps, and maps are decoded as objects. */
export function packer(): Packr {
  if (made === undefined) {
    const msgpackr: typeof import('msgpackr') = require('msgpackr');
    made = new msgpackr.Packr({ useRecords: false });
  }
  return made;
}
