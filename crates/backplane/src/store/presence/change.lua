-- Writes what has changed among the members of a session, and tells it.
-- KEYS: the index, the hash of the session's members.
-- ARGV: 1 session, 2 the number of the change before it ('0': there is no member), 3 its own number, 4 life in ms, 5 topic,
-- 6 message without its last byte, 7 PUBLISH or SPUBLISH, 8 how many have left, then their fields, then fields and values.
-- Returns 1, 2 if no member is left, or 0: the store has something else, and nothing was done.
local known = redis.call('HGET', KEYS[1], ARGV[1]) or '0'
if known ~= ARGV[2] then
  return 0
end
if known == '0' then
  redis.call('DEL', KEYS[2])
end
local left = tonumber(ARGV[8])
-- what is written first: a server without memory refuses it, and nothing is done
for at = 9 + left, #ARGV, 2 do
  redis.call('HSET', KEYS[2], ARGV[at], ARGV[at + 1])
end
for at = 9, 8 + left do
  redis.call('HDEL', KEYS[2], ARGV[at])
end
local is_empty = redis.call('EXISTS', KEYS[2]) == 0
if is_empty then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
  redis.call('PEXPIRE', KEYS[2], ARGV[4])
end
local told = redis.pcall(ARGV[7], ARGV[5], ARGV[6] .. (is_empty and '\1' or '\0'))
if type(told) == 'table' and told.err then
  return redis.error_reply('UNTOLD ' .. told.err)
end
return is_empty and 2 or 1
