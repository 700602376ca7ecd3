/**
 * Request listeners of Node.js, such as apps of Express, as handlers of Millrace.
 *
 * @module millrace/node
 */

import './addon/floor.js';

export {
  type FastifyApp,
  type KoaApp,
  type NestApp,
  type NodeApp,
  type NodeHandler,
  type NodeListener,
  nodeHandler,
  type RequestListener,
} from './node/node-handler.js';
