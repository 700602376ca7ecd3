-- Reads a page of a channel's kept messages.
-- KEYS: the stream, the hash.
-- ARGV: 1 'f' forward or 'r' in reverse, 2 the offset to begin at ('+': the newest), 3 the least offset, 4 the most
-- messages, 5 the most bytes, 6 how many are looked at together, 7 age in ms, 8 epoch if there is none yet, 9 life of the
-- hash in ms.
-- Returns the epoch, the newest offset, the id of that message, the offset to go on at or '', and the messages.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local meta = redis.call('HMGET', KEYS[2], 'epoch', 'offset', 'last')
local epoch = meta[1]
if not epoch then
  if redis.call('EXISTS', KEYS[1], KEYS[2]) > 0 then
    redis.call('DEL', KEYS[1], KEYS[2])
  end
  epoch, meta = ARGV[8], {}
  redis.call('HSET', KEYS[2], 'epoch', epoch)
  redis.call('PEXPIRE', KEYS[2], ARGV[9])
end

local is_forward, cursor, floor = ARGV[1] == 'f', ARGV[2], ARGV[3]
local most, most_bytes = tonumber(ARGV[4]), tonumber(ARGV[5])
local chunk, age = tonumber(ARGV[6]), tonumber(ARGV[7])
local reply = {epoch, meta[2] or '0', meta[3] or '', ''}
local count, bytes = 0, 0
-- a bound on the work for streams that other programs have written
for _ = 1, 4096 do
  local found
  if is_forward then
    found = redis.call('XRANGE', KEYS[1], cursor, '+', 'COUNT', ARGV[6])
  else
    found = redis.call('XREVRANGE', KEYS[1], cursor, floor, 'COUNT', ARGV[6])
  end
  local number
  for _, item in ipairs(found) do
    local message = item[2][2]
    number = tonumber(string.match(item[1], '^%d+'))
    -- 91 bytes come before the payload, the time is behind 34 of them
    if #message >= 91 and now - struct.unpack('<I8', message, 35) < age then
      if count > 0 and (count >= most or bytes + #message > most_bytes) then
        reply[4] = string.format('%.0f', number)
        return reply
      end
      count, bytes = count + 1, bytes + #message
      reply[4 + count] = message
    end
  end
  if #found < chunk then
    return reply
  end
  cursor = string.format('%.0f', is_forward and number + 1 or number - 1)
end
reply[4] = cursor
return reply
