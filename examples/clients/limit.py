#!/usr/bin/env python3
"""A rate limit with redis-py: a timeout, a failure policy, 429 and the fields of an HTTP answer."""

import hmac
import os
import sys
import time

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

CAPACITY, RATE, WINDOW = 3, "3/60s", 60  # the same policy for the server and for RateLimit-Policy
TIMEOUT = int(os.environ.get("LIMIT_TIMEOUT_MS", 50)) / 1000  # no request waits longer for its verdict
PAUSE = 1  # after a failure the server is left alone for this many seconds


def connect(url):
    """A question is asked once: who does not know whether it was charged must not charge again."""
    return redis.Redis.from_url(
        url, socket_timeout=TIMEOUT, socket_connect_timeout=TIMEOUT, retry=Retry(NoBackoff(), 0)
    )


def key(secret, limit, kind, subject):
    """The key that every service with this secret makes, in any language; nobody reads the subject in it."""
    digest = hmac.new(secret, f"{kind}:{subject}".encode(), "sha256").hexdigest()[:32]
    return f"rl:prod:shop:{limit}:{kind}:{digest}"


def seconds(ms):
    """Header fields are whole seconds. Rounded up: who waits that long is not early."""
    return -(-ms // 1000)


class Limiter:
    def __init__(self, db, on_failure):
        """`on_failure` is "open" or "closed": what becomes of a request when the server does not answer."""
        self.db, self.on_failure, self.silent_until = db, on_failure, 0

    def check(self, key, cost=1):
        """Asks the limiter; returns the HTTP status and the headers to send."""
        policy = {"RateLimit-Policy": f'"default";q={CAPACITY};w={WINDOW}'}
        try:
            if time.monotonic() < self.silent_until:
                raise redis.ConnectionError("it did not answer lately")
            reply = self.db.execute_command("RL.TOKENBUCKET", key, CAPACITY, RATE, cost)
        except redis.RedisError as error:  # out of reach, too slow, or without the module
            if time.monotonic() >= self.silent_until:
                print(f"limiter {self.on_failure}: {error}", file=sys.stderr)  # count it too
                self.silent_until = time.monotonic() + PAUSE
            # What is left is not known now, so there is no RateLimit. It is not the caller's fault: 503, not 429.
            return (200, policy) if self.on_failure == "open" else (503, {"Retry-After": str(PAUSE), **policy})
        allowed, _, remaining, retry_after, reset_after = reply
        wait, headers = reset_after, {}
        if not allowed and retry_after >= 0:  # -1: the cost is above the capacity, and no wait will help
            wait = retry_after
            headers["Retry-After"] = str(seconds(wait))
        headers.update(policy)
        headers["RateLimit"] = f'"default";r={remaining};t={seconds(wait)}'
        return (200 if allowed else 429), headers


if __name__ == "__main__":
    db = connect(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"))
    limiter = Limiter(db, os.environ.get("ON_FAILURE", "closed"))
    name = sys.argv[1] if len(sys.argv) > 1 else key(b"thirty-two random bytes, not this", "api", "user", "42")
    for cost in [int(word) for word in sys.argv[2:]] or [1, 1, 1, 1]:
        status, headers = limiter.check(name, cost)
        print(status)
        for field, value in headers.items():
            print(f"{field}: {value}")
