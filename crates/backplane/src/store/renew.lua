-- Gives a channel another epoch, unless another node was faster.
-- KEYS: the hash. ARGV: 1 topic, 2 the epoch that must end, 3 the new one, 4 PUBLISH or SPUBLISH.
if redis.call('HGET', KEYS[1], 'epoch') == ARGV[2] then
  redis.call('HSET', KEYS[1], 'epoch', ARGV[3])
  redis.pcall(ARGV[4], ARGV[1], '\255history\1\2' .. ARGV[3])
end
return 1
