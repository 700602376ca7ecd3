/**
 * The splice multiplexer as a server of its own: many WebSockets of a client in one, compatible with wsplice.
 *
 * @module millrace/splice
 */

import './addon/floor.js';

export type {
  SpliceListener,
  SpliceListenerLimits,
  SpliceServerOptions,
  SpliceTerms,
  SpliceTlsOptions,
} from './splice/splice-options.js';
export { createSplice, type SpliceServer } from './splice/splice-server.js';
export type { Duration, Size } from './splice/units.js';
