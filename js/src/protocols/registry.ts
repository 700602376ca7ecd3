/** The list of the protocols that a listener can speak. Each protocol reads its own options. */

import { http } from './http-protocol.js';
import type { ProtocolName } from './listeners.js';
import type { ProtocolModule } from './protocol.js';
import { resp } from './resp-protocol.js';
import { sockety } from './sockety-protocol.js';
import { splice } from './splice-protocol.js';
import { tcp } from './tcp-protocol.js';

/** All protocols. A listener without the option `protocol` speaks the first. */
const PROTOCOLS: readonly [Known, ...Known[]] = [http, resp, tcp, sockety, splice];
export default PROTOCOLS;

type Known = ProtocolModule<object> & { readonly name: ProtocolName };
