-- GCRA: the theoretical arrival time in a string. ARGV: burst, tokens per second, cost.
-- Replies allowed, limit, remaining, retry after (ms, -1 never), reset after (ms).
local burst, rate, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local interval = 1 / rate
local arrival = math.max(now, tonumber(redis.call('GET', KEYS[1]) or now))
local after = arrival + cost * interval
local wait = after - burst * interval - now

local allowed, retry = 1, 0
if wait <= 0 then
  arrival = after
  redis.call('SET', KEYS[1], arrival, 'PX', math.max(1, math.ceil((arrival - now) * 1000)))
else
  allowed = 0
  retry = cost > burst and -1 or math.ceil(wait * 1000)
end
local used = arrival - now
return {allowed, burst, math.floor(burst - used * rate), retry, math.ceil(used * 1000)}
