-- Ends the epoch of a channel if the store has lost a message: it has not come as far, or has given the number to another one.
-- A message that is not kept any more proves nothing.
-- KEYS: the stream, the hash.
-- ARGV: 1 topic, 2 epoch, 3 offset and 4 id of the message, 5 the offset behind it, 6 the new epoch, 7 PUBLISH or SPUBLISH.
-- Returns 1 if it is lost.
local meta = redis.call('HMGET', KEYS[2], 'epoch', 'offset', 'last')
if meta[1] ~= ARGV[2] then
  return 0
end
local newest, offset = tonumber(meta[2] or 0), tonumber(ARGV[3])
local lost = newest < offset
if newest == offset then
  lost = (meta[3] or string.rep('\0', 16)) ~= ARGV[4]
elseif newest > offset then
  local found = redis.call('XRANGE', KEYS[1], ARGV[5] .. '-0', ARGV[5] .. '-0')
  local message = found[1] and found[1][2][2]
  -- 91 bytes come before the payload, and 42 before the id of the message before it, which has 16; another program may have
  -- written it
  lost = message and #message >= 91 and string.sub(message, 1, 10) == '\255history\1\1'
    and string.sub(message, 43, 58) ~= ARGV[4]
end
if not lost then
  return 0
end
redis.call('HSET', KEYS[2], 'epoch', ARGV[6])
redis.pcall(ARGV[7], ARGV[1], '\255history\1\2' .. ARGV[6])
return 1
