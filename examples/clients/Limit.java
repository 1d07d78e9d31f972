// A rate limit with Jedis 7 or newer: a timeout, a failure policy, 429 and the fields of an HTTP answer.
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.SafeEncoder;

public class Limit {
    // The same policy for the server and for RateLimit-Policy.
    static final String CAPACITY = "3", RATE = "3/60s";
    static final int WINDOW = 60;
    static final int TIMEOUT_MS = 50; // no request waits longer for its verdict
    static final long PAUSE = 1; // after a failure the server is left alone for this many seconds
    static final ProtocolCommand TOKENBUCKET = () -> SafeEncoder.encode("RL.TOKENBUCKET");

    enum OnFailure { OPEN, CLOSED }

    record Answer(int status, Map<String, String> headers) {}

    final UnifiedJedis db;
    final OnFailure onFailure;
    volatile long silentUntil = System.nanoTime();

    // What becomes of a request when the server does not answer is for each limit to say.
    Limit(UnifiedJedis db, OnFailure onFailure) {
        this.db = db;
        this.onFailure = onFailure;
    }

    // Jedis asks once, as it should be: who does not know whether it was charged must not charge again.
    static RedisClient connect(URI url) {
        var config = DefaultJedisClientConfig.builder()
            .connectionTimeoutMillis(TIMEOUT_MS).socketTimeoutMillis(TIMEOUT_MS).build();
        return RedisClient.builder()
            .hostAndPort(new HostAndPort(url.getHost(), url.getPort())).clientConfig(config).build();
    }

    // The key that every service with this secret makes, in any language; nobody reads the subject in it.
    static String key(byte[] secret, String limit, String kind, String subject) throws Exception {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(secret, "HmacSHA256"));
        byte[] digest = mac.doFinal((kind + ":" + subject).getBytes(StandardCharsets.UTF_8));
        return "rl:prod:shop:" + limit + ":" + kind + ":" + HexFormat.of().formatHex(digest, 0, 16);
    }

    // Header fields are whole seconds. Rounded up: who waits that long is not early.
    static long seconds(long ms) {
        return (ms + 999) / 1000;
    }

    // Asks the limiter. The key is given twice: the first tells a cluster client where to go.
    Answer check(String key, long cost) {
        Map<String, String> headers = new LinkedHashMap<>();
        String policy = "\"default\";q=" + CAPACITY + ";w=" + WINDOW;
        List<?> reply = null;
        if (System.nanoTime() - silentUntil >= 0) {
            try {
                reply = (List<?>) db.sendCommand(key, TOKENBUCKET, key, CAPACITY, RATE, Long.toString(cost));
            } catch (JedisException error) { // out of reach, too slow, or without the module
                System.err.println("limiter " + onFailure + ": " + error.getMessage()); // count it too
                silentUntil = System.nanoTime() + PAUSE * 1_000_000_000;
            }
        }
        if (reply == null) {
            // What is left is not known now, so there is no RateLimit. It is not the caller's fault: 503, not 429.
            if (onFailure == OnFailure.CLOSED) headers.put("Retry-After", Long.toString(PAUSE));
            headers.put("RateLimit-Policy", policy);
            return new Answer(onFailure == OnFailure.OPEN ? 200 : 503, headers);
        }
        boolean allowed = (Long) reply.get(0) == 1;
        long remaining = (Long) reply.get(2), retryAfter = (Long) reply.get(3), resetAfter = (Long) reply.get(4);
        long wait = resetAfter;
        if (!allowed && retryAfter >= 0) { // -1: the cost is above the capacity, and no wait will help
            wait = retryAfter;
            headers.put("Retry-After", Long.toString(seconds(wait)));
        }
        headers.put("RateLimit-Policy", policy);
        headers.put("RateLimit", "\"default\";r=" + remaining + ";t=" + seconds(wait));
        return new Answer(allowed ? 200 : 429, headers);
    }

    public static void main(String[] args) throws Exception {
        URI url = URI.create(System.getenv().getOrDefault("REDIS_URL", "redis://127.0.0.1:6379"));
        OnFailure onFailure = "open".equals(System.getenv("ON_FAILURE")) ? OnFailure.OPEN : OnFailure.CLOSED;
        String key = key("thirty-two random bytes, not this".getBytes(StandardCharsets.UTF_8), "api", "user", "42");
        try (RedisClient db = connect(url)) {
            Limit limit = new Limit(db, onFailure);
            for (int i = 0; i < 4; i++) {
                Answer answer = limit.check(key, 1);
                System.out.println(answer.status());
                answer.headers().forEach((name, value) -> System.out.println(name + ": " + value));
            }
        }
    }
}
