// Peer: the `ws` package on Node, one process, one thread.
import { ready } from '../peer.mjs';
import { deliver, serve } from './serve.mjs';

serve({ publish: deliver, groupSize: 10, listening: ready });
