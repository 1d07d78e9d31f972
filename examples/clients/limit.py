#!/usr/bin/env python3
"""A rate limit with redis-py: 429, Retry-After and the RateLimit fields of an HTTP answer."""

import os
import sys

import redis

CAPACITY, RATE, WINDOW = 3, "3/60s", 60  # the same policy for the server and for RateLimit-Policy


def seconds(ms):
    """Header fields are whole seconds. Rounded up: who waits that long is not early."""
    return -(-ms // 1000)


def check(db, key, cost=1):
    """Asks the limiter; returns the HTTP status and the headers to send."""
    allowed, limit, remaining, retry_after, reset_after = db.execute_command(
        "RL.TOKENBUCKET", key, CAPACITY, RATE, cost
    )
    wait = reset_after if allowed else retry_after
    headers = {}
    if wait < 0:  # the cost is above the capacity: no wait will help
        wait = reset_after
    elif not allowed:
        headers["Retry-After"] = str(seconds(wait))
    headers["RateLimit-Policy"] = f'"default";q={limit};w={WINDOW}'
    headers["RateLimit"] = f'"default";r={remaining};t={seconds(wait)}'
    return (200 if allowed else 429), headers


if __name__ == "__main__":
    url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")
    db = redis.Redis.from_url(url, socket_timeout=1)
    for cost in [int(word) for word in sys.argv[2:]] or [1, 1, 1, 1]:
        status, headers = check(db, sys.argv[1] if len(sys.argv) > 1 else "api:42", cost)
        print(status)
        for name, value in headers.items():
            print(f"{name}: {value}")
