//! `RL.PEEK` and `RL.INFO`.

use redis::Value;

use crate::harness::{MS, S, START, Server, raw_reply};

#[test]
fn peek_answers_what_a_call_under_the_stored_limits_would_get() {
    let server = Server::start();
    for (call, seven_left, reset) in [
        ("RL.TOKENBUCKET k 10 10/60s 3", 7, 18_000),
        ("RL.GCRA k 10 10/60s 3", 7, 18_000),
        ("RL.FIXED k 10 60s 3", 7, 60_000),
        ("RL.FIXED k 10 60s 3 ALIGNED", 7, 60_000),
        ("RL.SLIDINGLOG k 10 60s 3", 7, 60_000),
        ("RL.SLIDINGCOUNTER k 10 60s 3", 7, 120_000),
    ] {
        server.run("FLUSHALL");
        server.five(call);
        assert_eq!(server.five("RL.PEEK k 0"), [1, 10, seven_left, 0, reset], "{call}");
        assert_eq!(server.five("RL.PEEK k")[..4], [1, 10, 6, 0], "{call}");
        assert_eq!(server.five("RL.PEEK k 1")[..4], [1, 10, 6, 0], "{call}");
        assert_eq!(server.five("RL.PEEK k 7")[..4], [1, 10, 0, 0], "{call}");
        let refused = server.five("RL.PEEK k 8");
        assert_eq!((refused[0], refused[2], refused[4]), (0, 7, reset), "{call}");
        assert!(refused[3] > 0, "{call}");
        assert_eq!(server.five("RL.PEEK k 11"), [0, 10, 7, -1, reset], "{call}");
        // The stored limits are those of the last admitted call.
        let words: Vec<&str> = call.split(' ').collect();
        assert_eq!(server.five(&format!("{} k 2 {} 2", words[0], words[3]))[0], 0, "{call}");
        assert_eq!(server.five("RL.PEEK k 0")[1], 10, "{call}");
        server.five(&format!("{} k 20 {}", words[0], words[3]));
        assert_eq!(server.five("RL.PEEK k 0")[1..3], [20, 16], "{call}");
    }
}

#[test]
fn peek_with_an_algorithm_answers_what_exactly_that_call_would_get_key_or_no_key() {
    let server = Server::start();
    assert_eq!(server.five("RL.PEEK k TOKENBUCKET 100 10 5"), [1, 100, 95, 0, 500]);
    assert_eq!(server.five("RL.PEEK k gcra 10 30/60s 4"), [1, 10, 6, 0, 8000]);
    assert_eq!(server.five("RL.PEEK k Fixed 10 60s"), [1, 10, 9, 0, 60_000]);
    assert_eq!(server.five("RL.PEEK k FIXED 10 1d 1 ALIGNED 22h"), [1, 10, 9, 0, 22 * 3_600_000]);
    assert_eq!(server.five("RL.PEEK k SLIDINGLOG 10 60s 11"), [0, 10, 10, -1, 0]);
    assert_eq!(server.five("RL.PEEK k SLIDINGCOUNTER 10 60s 10"), [1, 10, 0, 0, 120_000]);
    assert_eq!(server.five("RL.PEEK k SLIDINGCOUNTER 10 60s 0"), [1, 10, 10, 0, 0]);
    assert_eq!(server.get::<i64>("DBSIZE"), 0);
    server.five("RL.TOKENBUCKET k 100 10 50");
    assert_eq!(server.five("RL.PEEK k TOKENBUCKET 100 10 5"), [1, 100, 45, 0, 5500]);
    assert_eq!(server.five("RL.PEEK k TOKENBUCKET 40 10 5"), [0, 40, 0, 1500, 5000]);
}

#[test]
fn a_missing_key_is_the_null_of_each_protocol() {
    let server = Server::start();
    for command in ["RL.PEEK nobody", "RL.PEEK nobody 5", "RL.INFO nobody"] {
        assert_eq!(raw_reply(&server, 2, command), "*-1\r\n", "{command}");
        assert_eq!(raw_reply(&server, 3, command), "_\r\n", "{command}");
    }
}

#[test]
fn peek_of_an_idle_key_is_null_although_the_key_is_still_there() {
    let server = Server::start();
    for (call, whole, idle_after) in [
        ("RL.TOKENBUCKET k 10 10/s 10", "RL.PEEK k TOKENBUCKET 10 10/s", S),
        ("RL.GCRA k 10 10/s 10", "RL.PEEK k GCRA 10 10/s", S),
        ("RL.FIXED k 10 1s", "RL.PEEK k FIXED 10 1s", S),
        ("RL.SLIDINGLOG k 10 1s", "RL.PEEK k SLIDINGLOG 10 1s", S),
        ("RL.SLIDINGLOG k 10 1s 2", "RL.PEEK k SLIDINGLOG 10 1s", S),
        ("RL.SLIDINGCOUNTER k 10 1s", "RL.PEEK k SLIDINGCOUNTER 10 1s", 2 * S),
    ] {
        server.run("FLUSHALL");
        server.set_clock(START);
        server.five(call);
        server.advance(idle_after - 1);
        assert_eq!(server.five("RL.PEEK k 0")[4], 1, "{call}");
        server.advance(1);
        assert_eq!(server.get::<i64>("EXISTS k"), 1, "{call}");
        assert_eq!(raw_reply(&server, 2, "RL.PEEK k"), "*-1\r\n", "{call}");
        assert_eq!(raw_reply(&server, 3, "RL.PEEK k 0"), "_\r\n", "{call}");
        assert_eq!(server.five(whole)[..4], [1, 10, 9, 0], "{call}");
    }
}

/// The reply of RL.INFO as name and value pairs, in order.
fn pairs(reply: Value) -> Vec<(String, String)> {
    let flat: Vec<(Value, Value)> = match reply {
        Value::Map(pairs) => pairs,
        Value::Array(items) => items.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect(),
        other => panic!("no map but {other:?}"),
    };
    let text = |value| match value {
        Value::Int(integer) => integer.to_string(),
        Value::BulkString(bytes) => String::from_utf8(bytes).unwrap(),
        Value::SimpleString(text) => text,
        other => panic!("{other:?}"),
    };
    flat.into_iter().map(|(name, value)| (text(name), text(value))).collect()
}

#[test]
fn info_shows_a_limiter_as_a_map_or_as_a_flat_array() {
    let server = Server::start();
    let parameters = |text: &str| -> Vec<(String, String)> {
        text.split(' ')
            .map(|pair| pair.split_once('=').unwrap())
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    };
    for (call, shown) in [
        (
            "RL.TOKENBUCKET k 10 30/60s 3",
            "algorithm=tokenbucket capacity=10 rate=30 period_ms=60000 used=3 remaining=7 reset_after_ms=6000",
        ),
        ("RL.GCRA k 10 5 3", "algorithm=gcra burst=10 rate=5 period_ms=1000 used=3 remaining=7 reset_after_ms=600"),
        ("RL.FIXED k 10 1h 3", "algorithm=fixed limit=10 window_ms=3600000 used=3 remaining=7 reset_after_ms=3600000"),
        (
            "RL.FIXED k 10 1h 3 ALIGNED 30m",
            "algorithm=fixed limit=10 window_ms=3600000 used=3 remaining=7 reset_after_ms=1800000",
        ),
        (
            "RL.SLIDINGLOG k 10 60s 3",
            "algorithm=slidinglog limit=10 window_ms=60000 used=3 remaining=7 reset_after_ms=60000",
        ),
        (
            "RL.SLIDINGCOUNTER k 10 60s 3",
            "algorithm=slidingcounter limit=10 window_ms=60000 used=3 remaining=7 reset_after_ms=120000",
        ),
    ] {
        server.run("FLUSHALL");
        server.five(call);
        let mut expected = parameters(shown);
        expected.push(("updated_us".into(), START.to_string()));
        if call.contains("LOG") {
            expected.push(("events".into(), "1".into()));
        }
        expected.push(("bytes".into(), server.get::<String>("STRLEN k")));
        expected.push(("version".into(), "1".into()));
        assert_eq!(pairs(server.run("RL.INFO k")), expected, "{call}");
        let mut three = server.client_resp3();
        let map = three.run("RL.INFO k");
        assert!(matches!(map, Value::Map(_)), "{map:?}");
        assert_eq!(pairs(map), expected, "{call}");
        assert!(raw_reply(&server, 2, "RL.INFO k").starts_with(&format!("*{}\r\n", 2 * expected.len())), "{call}");
        assert!(raw_reply(&server, 3, "RL.INFO k").starts_with(&format!("%{}\r\n", expected.len())), "{call}");
    }
}

#[test]
fn info_follows_the_clock_and_updated_tells_the_last_admitted_call() {
    let server = Server::start();
    let field = |name: &str| -> i64 {
        let pairs = pairs(server.run("RL.INFO k"));
        let value = pairs.iter().find(|pair| pair.0 == name);
        value.unwrap_or_else(|| panic!("no {name}")).1.parse().unwrap()
    };
    server.five("RL.TOKENBUCKET k 10 1/s 6");
    server.advance(2500 * MS);
    assert_eq!((field("used"), field("remaining"), field("reset_after_ms")), (4, 6, 3500));
    assert_eq!(server.five("RL.TOKENBUCKET k 10 1/s 7")[0], 0);
    assert_eq!(server.five("RL.TOKENBUCKET k 10 1/s 0")[0], 1);
    assert_eq!(field("updated_us"), START);
    server.five("RL.TOKENBUCKET k 10 1/s 1");
    assert_eq!(field("updated_us"), START + 2500 * MS);

    server.run("DEL k");
    server.set_clock(START);
    for _ in 0..4 {
        server.five("RL.SLIDINGLOG k 10 10s");
        server.advance(4 * S);
    }
    // Events at 0, 4, 8 and 12 s; now it is 16 s.
    assert_eq!((field("events"), field("used"), field("remaining"), field("reset_after_ms")), (2, 2, 8, 6000));
    server.advance(3600 * S);
    assert_eq!(server.run("RL.INFO k"), Value::Nil);

    server.set_clock(START + 5 * S);
    server.five("RL.FIXED f 10 60s 1 ALIGNED");
    server.advance(S);
    server.five("RL.FIXED f 10 60s 1 ALIGNED");
    let pairs = pairs(server.run("RL.INFO f"));
    assert!(pairs.contains(&("updated_us".into(), (START + 6 * S).to_string())), "{pairs:?}");
}

#[test]
fn looking_is_possible_in_read_only_scripts() {
    let server = Server::start();
    server.five("RL.FIXED k 10 60s");
    let peek = "return redis.call('RL.PEEK', KEYS[1])";
    assert!(server.send(&["EVAL_RO", peek, "1", "k"]).is_ok());
    let info = "#!lua flags=no-writes\nreturn redis.call('RL.INFO', KEYS[1])";
    assert!(server.send(&["EVAL", info, "1", "k"]).is_ok());
    let take = "return redis.call('RL.FIXED', KEYS[1], 10, '60s')";
    let error = server.send(&["EVAL_RO", take, "1", "k"]).unwrap_err();
    assert!(error.contains("Write commands are not allowed from read-only scripts"), "{error}");
}
