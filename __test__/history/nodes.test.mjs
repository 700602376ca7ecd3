// Channels with history on two nodes that share a Redis: one order and the same numbers on both.
import test from 'ava';

import { sharedNodes } from '../support/history-nodes.mjs';
import { needingRedis, Redis } from '../support/redis.mjs';
import { storedHistories } from '../support/stored-histories.mjs';

const redis = Redis.of(test);
storedHistories(needingRedis(test), sharedNodes(needingRedis(test), redis));
