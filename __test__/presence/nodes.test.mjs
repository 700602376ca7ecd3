// Presence on several nodes over Redis: each knows the members of all, and tells its clients what changes on any of them.
import test from 'ava';

import { Redis, needingRedis } from '../support/redis.mjs';
import { declareNodes } from '../support/presence-nodes.mjs';

declareNodes(needingRedis(test), Redis.of(test));
