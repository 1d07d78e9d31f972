// A rate limit with node-redis: 429, Retry-After and the RateLimit fields of an HTTP answer.
const { createClient } = require("redis");

const CAPACITY = 3, RATE = "3/60s", WINDOW = 60; // the same policy for the server and for RateLimit-Policy

// Header fields are whole seconds. Rounded up: who waits that long is not early.
const seconds = (ms) => Math.ceil(ms / 1000);

// Asks the limiter; returns the HTTP status and the headers to send.
async function check(db, key, cost = 1) {
  const [allowed, limit, remaining, retryAfter, resetAfter] =
    await db.sendCommand(["RL.TOKENBUCKET", key, String(CAPACITY), RATE, String(cost)]);
  const headers = {};
  let wait = allowed ? resetAfter : retryAfter;
  if (wait < 0) wait = resetAfter; // the cost is above the capacity: no wait will help
  else if (!allowed) headers["Retry-After"] = String(seconds(wait));
  headers["RateLimit-Policy"] = `"default";q=${limit};w=${WINDOW}`;
  headers["RateLimit"] = `"default";r=${remaining};t=${seconds(wait)}`;
  return { status: allowed ? 200 : 429, headers };
}

async function main([key = "api:42", ...costs]) {
  const db = createClient({ url: process.env.REDIS_URL || "redis://127.0.0.1:6379" });
  await db.connect();
  for (const cost of costs.length ? costs : [1, 1, 1, 1]) {
    const { status, headers } = await check(db, key, cost);
    console.log(status);
    for (const [name, value] of Object.entries(headers)) console.log(`${name}: ${value}`);
  }
  await db.quit();
}

main(process.argv.slice(2));
