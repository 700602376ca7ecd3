-- Writes a part of all members of a session. While they are not complete, the index has 'w' for them.
-- KEYS: the index, the hash of the session's members, that of an earlier session.
-- ARGV: 1 session, 2 the number of the change if this is the last part, or 'w', 3 '1' if it is the first part, 4 life in ms,
-- 5 topic, 6 message without its last byte, 7 PUBLISH or SPUBLISH, 8 the earlier session that ends here or '', then fields and
-- values.
-- Returns 1, 2 if there is no member, or 0: something is missing in front of it, and nothing was done.
if ARGV[3] == '1' then
  redis.call('DEL', KEYS[2])
  redis.call('HDEL', KEYS[1], ARGV[1])
elseif redis.call('HGET', KEYS[1], ARGV[1]) ~= 'w' then
  return 0
end
for at = 9, #ARGV, 2 do
  redis.call('HSET', KEYS[2], ARGV[at], ARGV[at + 1])
end
if ARGV[2] ~= 'w' and ARGV[8] ~= '' then
  redis.call('HDEL', KEYS[1], ARGV[8])
  redis.call('DEL', KEYS[3])
end
local is_empty = redis.call('EXISTS', KEYS[2]) == 0
if is_empty then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
  redis.call('PEXPIRE', KEYS[2], ARGV[4])
end
if ARGV[2] ~= 'w' then
  local told = redis.pcall(ARGV[7], ARGV[5], ARGV[6] .. (is_empty and '\1' or '\0'))
  if type(told) == 'table' and told.err then
    return redis.error_reply('UNTOLD ' .. told.err)
  end
end
return is_empty and 2 or 1
