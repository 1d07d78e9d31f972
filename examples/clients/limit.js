// A rate limit with node-redis: a timeout, a failure policy, 429 and the fields of an HTTP answer.
const { createHmac } = require("crypto");
const { createClient } = require("redis");

const CAPACITY = 3, RATE = "3/60s", WINDOW = 60; // the same policy for the server and for RateLimit-Policy
const TIMEOUT = Number(process.env.LIMIT_TIMEOUT_MS || 50); // no request waits longer for its verdict
const PAUSE = 1; // after a failure the server is left alone for this many seconds

// The promise, or an error if it takes too long.
function within(ms, promise) {
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(reject, ms, new Error("timeout")); });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// Without an offline queue: a question that nobody waits for any more must not be asked, and charged, later.
function connect(url) {
  const db = createClient({
    url,
    disableOfflineQueue: true,
    socket: { connectTimeout: TIMEOUT, reconnectStrategy: () => PAUSE * 1000 },
  });
  db.on("error", () => {}); // the calls tell
  return db;
}

// The key that every service with this secret makes, in any language; nobody reads the subject in it.
function key(secret, limit, kind, subject) {
  const digest = createHmac("sha256", secret).update(`${kind}:${subject}`).digest("hex").slice(0, 32);
  return `rl:prod:shop:${limit}:${kind}:${digest}`;
}

// Header fields are whole seconds. Rounded up: who waits that long is not early.
const seconds = (ms) => Math.ceil(ms / 1000);

class Limiter {
  // onFailure is "open" or "closed": what becomes of a request when the server does not answer.
  constructor(db, onFailure) {
    Object.assign(this, { db, onFailure, silentUntil: 0 });
  }

  // Asks the limiter; returns the HTTP status and the headers to send.
  async check(key, cost = 1) {
    const policy = { "RateLimit-Policy": `"default";q=${CAPACITY};w=${WINDOW}` };
    let reply;
    try {
      if (performance.now() < this.silentUntil) throw new Error("it did not answer lately");
      const words = ["RL.TOKENBUCKET", key, String(CAPACITY), RATE, String(cost)];
      reply = await within(TIMEOUT, this.db.sendCommand(words));
    } catch (error) { // out of reach, too slow, or without the module
      if (performance.now() >= this.silentUntil) {
        console.error(`limiter ${this.onFailure}: ${error.message}`); // count it too
        this.silentUntil = performance.now() + PAUSE * 1000;
      }
      // What is left is not known now, so there is no RateLimit. It is not the caller's fault: 503, not 429.
      if (this.onFailure === "open") return { status: 200, headers: policy };
      return { status: 503, headers: { "Retry-After": String(PAUSE), ...policy } };
    }
    const [allowed, , remaining, retryAfter, resetAfter] = reply;
    const headers = {};
    let wait = resetAfter;
    if (!allowed && retryAfter >= 0) { // -1: the cost is above the capacity, and no wait will help
      wait = retryAfter;
      headers["Retry-After"] = String(seconds(wait));
    }
    Object.assign(headers, policy, { RateLimit: `"default";r=${remaining};t=${seconds(wait)}` });
    return { status: allowed ? 200 : 429, headers };
  }
}

async function main([name = key("thirty-two random bytes, not this", "api", "user", "42"), ...costs]) {
  const db = connect(process.env.REDIS_URL || "redis://127.0.0.1:6379");
  await within(TIMEOUT, db.connect()).catch(() => {}); // it goes on trying
  const limiter = new Limiter(db, process.env.ON_FAILURE || "closed");
  for (const cost of costs.length ? costs : [1, 1, 1, 1]) {
    const { status, headers } = await limiter.check(name, cost);
    console.log(status);
    for (const [field, value] of Object.entries(headers)) console.log(`${field}: ${value}`);
  }
  process.exit();
}

main(process.argv.slice(2));
