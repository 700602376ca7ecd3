// Channels with history on two nodes that share a NATS with JetStream: the same promises as over Redis.
import test from 'ava';

import { sharedNodes } from '../support/history-nodes.mjs';
import { Nats, needingNats } from '../support/nats.mjs';
import { storedHistories } from '../support/stored-histories.mjs';

const nats = Nats.of(test);
storedHistories(needingNats(test), sharedNodes(needingNats(test), nats));
