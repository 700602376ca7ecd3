// Presence on several nodes over Redis: each knows the members of all, and tells its clients what changes on any of them.
import test from 'ava';
import { declareNodes } from '../support/presence-nodes.mjs';
import { needingRedis, Redis } from '../support/redis.mjs';

const redis = Redis.of(test);

declareNodes(needingRedis(test), redis, (channel) => redis.cli('HGETALL', `millrace!i{${channel}}`));
