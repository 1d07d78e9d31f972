-- Sliding log in a sorted set scored by time (us). ARGV: limit, window (ms), cost.
-- Replies allowed, limit, remaining, retry after (ms, -1 never), reset after (ms; the window, an upper bound, which
-- saves reading the newest event).
local limit, window, cost = tonumber(ARGV[1]), ARGV[2] * 1000, tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
local used = redis.call('ZCARD', KEYS[1])
if used + cost <= limit then
  for i = 1, cost do
    -- The count tells apart events of one microsecond.
    redis.call('ZADD', KEYS[1], now, time[1] .. '.' .. time[2] .. '-' .. used + i)
  end
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return {1, limit, limit - used - cost, 0, window / 1000}
end
local retry = -1
if cost <= limit then
  local rank = used + cost - limit - 1
  local leaves = redis.call('ZRANGE', KEYS[1], rank, rank, 'WITHSCORES')
  retry = math.ceil((leaves[2] + window - now) / 1000)
end
return {0, limit, limit - used, retry, window / 1000}
