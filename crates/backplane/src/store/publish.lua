-- Publishes a message in a channel with history: gives it the next number, appends it to the stream and tells it.
-- KEYS: the stream, the hash.
-- ARGV: 1 topic, 2 epoch if there is none yet, 3 messages, 4 age in ms, 5 life of the hash in ms, 6 'k' and the key of
-- idempotency or '', 7 id, 8 flags, socket and mark, 9 payload, 10 PUBLISH or SPUBLISH.
-- Returns the epoch, the offset, and 1 if a message with the same key was published before.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local meta = redis.call('HMGET', KEYS[2], 'epoch', 'offset', 'time', 'last', 'low', 'high')
local epoch = meta[1]
if not epoch then
  -- numbers begin anew: what is left from before has no place in them
  if redis.call('EXISTS', KEYS[1], KEYS[2]) > 0 then
    redis.call('DEL', KEYS[1], KEYS[2])
  end
  epoch, meta = ARGV[2], {}
end
local newest, messages, age = tonumber(meta[2] or 0), tonumber(ARGV[3]), tonumber(ARGV[4])

if ARGV[6] ~= '' then
  local known = redis.call('HGET', KEYS[2], ARGV[6])
  if known then
    local offset, at = string.match(known, '^(%d+) (%d+)$')
    if offset and newest - offset < messages and now - at < age then
      return {epoch, offset, 1}
    end
  end
end

local number = newest + 1
now = math.max(now, tonumber(meta[3] or 0))
local offset, time = string.format('%.0f', number), string.format('%.0f', now)
local message = '\255history\1\1' .. epoch .. struct.pack('<I8I8', number, now)
  .. (meta[4] or string.rep('\0', 16)) .. ARGV[7] .. ARGV[8] .. ARGV[9]
-- the first command that writes: if the server refuses it, nothing is done
redis.call('XADD', KEYS[1], 'MAXLEN', '=', ARGV[3], offset .. '-0', 'm', message)
redis.call('HSET', KEYS[2], 'epoch', epoch, 'offset', offset, 'time', time, 'last', ARGV[7])

-- 'k…' is a key's message, 'o…' is a message's key; `low` is the first and `high` the last message that may have one
local low, high = tonumber(meta[5] or nil), tonumber(meta[6] or nil)
if ARGV[6] ~= '' then
  redis.call('HSET', KEYS[2], ARGV[6], offset .. ' ' .. time, 'o' .. offset, ARGV[6])
  low, high = low or number, number
end
if low then
  local steps = 0
  while low <= high and low <= number - messages and steps < 8 do
    local gone = string.format('%.0f', low)
    local key = redis.call('HGET', KEYS[2], 'o' .. gone)
    if key then
      -- the key may have been used again after its message was too old
      local of = redis.call('HGET', KEYS[2], key)
      if of and string.match(of, '^%d+') == gone then
        redis.call('HDEL', KEYS[2], key)
      end
      redis.call('HDEL', KEYS[2], 'o' .. gone)
    end
    low, steps = low + 1, steps + 1
  end
  if low > high then
    redis.call('HDEL', KEYS[2], 'low', 'high')
  else
    redis.call('HSET', KEYS[2], 'low', string.format('%.0f', low), 'high', string.format('%.0f', high))
  end
end

redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('PEXPIRE', KEYS[2], ARGV[5])
local told = redis.pcall(ARGV[10], ARGV[1], message)
if type(told) == 'table' and told.err then
  return redis.error_reply('UNTOLD ' .. told.err)
end
return {epoch, offset, 0}
