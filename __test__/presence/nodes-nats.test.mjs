// Presence on several nodes over NATS: each knows the members of all, and tells its clients what changes on any of them.
import test from 'ava';

import { Nats, needingNats } from '../support/nats.mjs';
import { declareNodes } from '../support/presence-nodes.mjs';

declareNodes(needingNats(test), Nats.of(test));
