-- Fixed window: INCRBY, PEXPIRE on the first call, PTTL. ARGV: limit, window (ms), cost.
-- Replies allowed, limit, remaining, retry after (ms, -1 never), reset after (ms).
-- As usual for this script, refused calls are counted too.
local limit, window, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local used = redis.call('INCRBY', KEYS[1], cost)
local left = window
if used == cost then
  redis.call('PEXPIRE', KEYS[1], window)
else
  left = redis.call('PTTL', KEYS[1])
end
if used <= limit then
  return {1, limit, limit - used, 0, left}
end
return {0, limit, math.max(0, limit - used), cost > limit and -1 or left, left}
