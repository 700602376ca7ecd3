-- Extends the life of a session, and says which sessions live.
-- KEYS: the sorted set of sessions by the time when they end.
-- ARGV: 1 session, 2 its life in ms, 3 '1' if it begins, 4 the most sessions that are returned.
-- Returns 1, or 0 if the session has ended; then the sessions.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))
local lives = 1
if ARGV[3] == '1' or redis.call('ZSCORE', KEYS[1], ARGV[1]) then
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[2]), ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
else
  lives = 0
end
local reply = redis.call('ZREVRANGE', KEYS[1], 0, ARGV[4] - 1)
table.insert(reply, 1, lives)
return reply
