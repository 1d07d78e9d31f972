// A rate limit with go-redis: a timeout, a failure policy, 429 and the fields of an HTTP answer.
//
//	go mod init limit && go get github.com/redis/go-redis/v9 && go run limit.go
package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// The same policy for the server and for RateLimit-Policy.
	capacity = 3
	rate     = "3/60s"
	window   = 60
	// No request waits longer for its verdict.
	timeout = 50 * time.Millisecond
	// After a failure the server is left alone for so long.
	pause = time.Second
)

// connect sets a deadline on every step. A question is asked once: who does not know whether it was charged must not charge again.
func connect(url string) (*redis.Client, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout, options.PoolTimeout = timeout, timeout, timeout, timeout
	options.MaxRetries = -1
	options.ContextTimeoutEnabled = true
	return redis.NewClient(options), nil
}

// key makes the key that every service with this secret makes, in any language; nobody reads the subject in it.
func key(secret []byte, limit, kind, subject string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(kind + ":" + subject))
	return fmt.Sprintf("rl:prod:shop:%s:%s:%s", limit, kind, hex.EncodeToString(mac.Sum(nil)[:16]))
}

// Header fields are whole seconds. Rounded up: who waits that long is not early.
func seconds(ms int64) int64 { return (ms + 999) / 1000 }

// Limiter has a failure policy: whether requests pass when the server does not answer.
type Limiter struct {
	db          *redis.Client
	open        bool
	silentUntil atomic.Int64
}

var errSilent = errors.New("it did not answer lately")

func (l *Limiter) ask(ctx context.Context, key string, cost int64) ([]int64, error) {
	if time.Now().UnixNano() < l.silentUntil.Load() {
		return nil, errSilent
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return l.db.Do(ctx, "RL.TOKENBUCKET", key, capacity, rate, cost).Int64Slice()
}

// Check asks the limiter; it sets the headers of the answer and returns its status.
func (l *Limiter) Check(ctx context.Context, header http.Header, key string, cost int64) int {
	header.Set("RateLimit-Policy", fmt.Sprintf(`"default";q=%d;w=%d`, capacity, window))
	reply, err := l.ask(ctx, key, cost)
	if err != nil { // out of reach, too slow, or without the module
		if !errors.Is(err, errSilent) {
			log.Printf("limiter open=%t: %v", l.open, err) // count it too
			l.silentUntil.Store(time.Now().Add(pause).UnixNano())
		}
		// What is left is not known now, so there is no RateLimit. It is not the caller's fault: 503, not 429.
		if l.open {
			return http.StatusOK
		}
		header.Set("Retry-After", strconv.Itoa(int(pause/time.Second)))
		return http.StatusServiceUnavailable
	}
	allowed, remaining, retryAfter, resetAfter := reply[0] == 1, reply[2], reply[3], reply[4]
	status, wait := http.StatusOK, resetAfter
	if !allowed {
		status = http.StatusTooManyRequests
		if retryAfter >= 0 { // -1: the cost is above the capacity, and no wait will help
			wait = retryAfter
			header.Set("Retry-After", strconv.FormatInt(seconds(wait), 10))
		}
	}
	header.Set("RateLimit", fmt.Sprintf(`"default";r=%d;t=%d`, remaining, seconds(wait)))
	return status
}

func main() {
	url := os.Getenv("REDIS_URL")
	if url == "" {
		url = "redis://127.0.0.1:6379"
	}
	db, err := connect(url)
	if err != nil {
		log.Fatal(err)
	}
	limiter := Limiter{db: db, open: os.Getenv("ON_FAILURE") == "open"}
	name := key([]byte("thirty-two random bytes, not this"), "api", "user", "42")
	for i := 0; i < 4; i++ {
		header := http.Header{}
		fmt.Println(limiter.Check(context.Background(), header, name, 1))
		for _, field := range []string{"Retry-After", "RateLimit-Policy", "RateLimit"} {
			if value := header.Get(field); value != "" {
				fmt.Printf("%s: %s\n", field, value)
			}
		}
	}
}
