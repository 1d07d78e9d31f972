// A rate limit with go-redis: 429, Retry-After and the RateLimit fields of an HTTP answer.
//
//	go mod init limit && go get github.com/redis/go-redis/v9 && go run limit.go
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// The same policy for the server and for RateLimit-Policy.
const (
	capacity = 3
	rate     = "3/60s"
	window   = 60
)

// Header fields are whole seconds. Rounded up: who waits that long is not early.
func seconds(ms int64) int64 { return (ms + 999) / 1000 }

// check asks the limiter; it sets the headers of the answer and returns its status.
func check(ctx context.Context, db *redis.Client, header http.Header, key string, cost int64) (int, error) {
	reply, err := db.Do(ctx, "RL.TOKENBUCKET", key, capacity, rate, cost).Int64Slice()
	if err != nil {
		return 0, err
	}
	allowed, limit, remaining, retryAfter, resetAfter := reply[0] == 1, reply[1], reply[2], reply[3], reply[4]
	status, wait := http.StatusOK, resetAfter
	if !allowed {
		status = http.StatusTooManyRequests
		if retryAfter >= 0 { // -1: the cost is above the capacity, and no wait will help
			wait = retryAfter
			header.Set("Retry-After", strconv.FormatInt(seconds(wait), 10))
		}
	}
	header.Set("RateLimit-Policy", fmt.Sprintf(`"default";q=%d;w=%d`, limit, window))
	header.Set("RateLimit", fmt.Sprintf(`"default";r=%d;t=%d`, remaining, seconds(wait)))
	return status, nil
}

func main() {
	url := os.Getenv("REDIS_URL")
	if url == "" {
		url = "redis://127.0.0.1:6379"
	}
	options, err := redis.ParseURL(url)
	if err != nil {
		panic(err)
	}
	db := redis.NewClient(options)
	for i := 0; i < 4; i++ {
		header := http.Header{}
		status, err := check(context.Background(), db, header, "api:42", 1)
		if err != nil {
			panic(err)
		}
		fmt.Println(status)
		for _, name := range []string{"Retry-After", "RateLimit-Policy", "RateLimit"} {
			if value := header.Get(name); value != "" {
				fmt.Printf("%s: %s\n", name, value)
			}
		}
	}
}
