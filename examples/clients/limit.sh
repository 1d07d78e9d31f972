#!/usr/bin/env bash
# A rate limit with redis-cli: 429, Retry-After and the RateLimit fields of an HTTP answer.
set -euo pipefail

url=${REDIS_URL:-redis://127.0.0.1:6379}
key=${1:-api:42}
window=60 # the same policy for the server and for RateLimit-Policy

# Header fields are whole seconds. Rounded up: who waits that long is not early.
seconds() { echo $((($1 + 999) / 1000)); }

# Asks the limiter; prints the HTTP status and the headers to send.
check() {
    local reply allowed limit remaining retry_after reset_after wait
    reply=$(redis-cli -e -u "$url" RL.TOKENBUCKET "$key" 3 3/60s "$1")
    read -r allowed limit remaining retry_after reset_after <<<"$(echo "$reply" | xargs)"
    if [ "$allowed" = 1 ]; then
        wait=$reset_after
        echo 200
    else
        wait=$retry_after
        echo 429
        # -1: the cost is above the capacity, and no wait will help.
        if [ "$wait" = -1 ]; then wait=$reset_after; else echo "Retry-After: $(seconds "$wait")"; fi
    fi
    echo "RateLimit-Policy: \"default\";q=$limit;w=$window"
    echo "RateLimit: \"default\";r=$remaining;t=$(seconds "$wait")"
}

[ $# -gt 1 ] || set -- "$key" 1 1 1 1
for cost in "${@:2}"; do check "$cost"; done
