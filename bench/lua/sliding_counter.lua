-- Sliding counter: two counters over aligned windows in a hash. ARGV: limit, window (ms), cost.
-- Replies allowed, limit, remaining, retry after (ms, -1 never; the end of the window, an upper bound), reset after (ms).
local limit, window, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local index = math.floor(now / window)
local elapsed = now - index * window
local state = redis.call('HMGET', KEYS[1], 'index', 'current', 'previous')
local stored, current, previous = tonumber(state[1]) or index, tonumber(state[2]) or 0, tonumber(state[3]) or 0
if stored ~= index then
  previous = stored == index - 1 and current or 0
  current = 0
end
local used = current + previous * (window - elapsed) / window

local allowed, retry = 1, 0
if used + cost <= limit then
  current = current + cost
  used = used + cost
  redis.call('HSET', KEYS[1], 'index', index, 'current', current, 'previous', previous)
  redis.call('PEXPIRE', KEYS[1], 2 * window)
else
  allowed = 0
  retry = cost > limit and -1 or math.ceil(window - elapsed)
end
return {allowed, limit, math.floor(limit - used), retry, math.ceil(2 * window - elapsed)}
