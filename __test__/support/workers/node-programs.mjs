// The programs of support/node-programs through `nodeHandler`.
import { nodeHandler } from '../millrace-node.mjs';
import { listenerOf, PROGRAMS } from '../node-programs/index.mjs';

export default nodeHandler(listenerOf(PROGRAMS));
