// A rate limit with Jedis 7 or newer: 429, Retry-After and the RateLimit fields of an HTTP answer.
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.util.SafeEncoder;

public class Limit {
    // The same policy for the server and for RateLimit-Policy.
    static final String CAPACITY = "3", RATE = "3/60s";
    static final int WINDOW = 60;
    static final ProtocolCommand TOKENBUCKET = () -> SafeEncoder.encode("RL.TOKENBUCKET");

    record Answer(int status, Map<String, String> headers) {}

    // Header fields are whole seconds. Rounded up: who waits that long is not early.
    static long seconds(long ms) {
        return (ms + 999) / 1000;
    }

    // Asks the limiter. The key is given twice: the first tells a cluster client where to go.
    static Answer check(UnifiedJedis db, String key, long cost) {
        List<?> reply = (List<?>) db.sendCommand(key, TOKENBUCKET, key, CAPACITY, RATE, Long.toString(cost));
        boolean allowed = (Long) reply.get(0) == 1;
        long limit = (Long) reply.get(1), remaining = (Long) reply.get(2);
        long retryAfter = (Long) reply.get(3), resetAfter = (Long) reply.get(4);

        Map<String, String> headers = new LinkedHashMap<>();
        long wait = resetAfter;
        if (!allowed && retryAfter >= 0) { // -1: the cost is above the capacity, and no wait will help
            wait = retryAfter;
            headers.put("Retry-After", Long.toString(seconds(wait)));
        }
        headers.put("RateLimit-Policy", "\"default\";q=" + limit + ";w=" + WINDOW);
        headers.put("RateLimit", "\"default\";r=" + remaining + ";t=" + seconds(wait));
        return new Answer(allowed ? 200 : 429, headers);
    }

    public static void main(String[] args) {
        String url = System.getenv().getOrDefault("REDIS_URL", "redis://127.0.0.1:6379");
        try (RedisClient db = RedisClient.create(url)) {
            for (int i = 0; i < 4; i++) {
                Answer answer = check(db, "api:42", 1);
                System.out.println(answer.status());
                answer.headers().forEach((name, value) -> System.out.println(name + ": " + value));
            }
        }
    }
}
