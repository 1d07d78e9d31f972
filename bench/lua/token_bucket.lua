-- Token bucket in a hash. ARGV: capacity, tokens per second, cost.
-- Replies allowed, limit, remaining, retry after (ms, -1 never), reset after (ms).
local capacity, rate, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local state = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens, at = tonumber(state[1]) or capacity, tonumber(state[2]) or now
tokens = math.min(capacity, tokens + math.max(0, now - at) * rate)

local allowed, retry = 1, 0
if cost <= tokens then
  tokens = tokens - cost
  redis.call('HSET', KEYS[1], 'tokens', tokens, 'at', now)
  redis.call('PEXPIRE', KEYS[1], math.ceil(capacity / rate * 1000))
else
  allowed = 0
  retry = cost > capacity and -1 or math.ceil((cost - tokens) / rate * 1000)
end
return {allowed, capacity, math.floor(tokens), retry, math.ceil((capacity - tokens) / rate * 1000)}
