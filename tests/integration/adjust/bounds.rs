//! Adjustments that are errors, and change nothing.

use crate::harness::{Server, limiters, quoted};

const DELTA: &str = "an integer from -1000000000000 to 1000000000000";

#[test]
fn whatever_is_no_integer_in_range_is_an_error_that_names_argument_and_range() {
    let server = Server::start();
    server.five("RL.FIXED k 5 1h 2");
    let before = server.state("k");
    let words: [&[u8]; 20] = [
        b"",
        b"-",
        b"--1",
        b"+1",
        b"-0",
        b"01",
        b"-01",
        b"1.5",
        b"-1.5",
        b"1e3",
        b" 1",
        b"- 1",
        b"-1 ",
        b"1000000000001",
        b"-1000000000001",
        b"9223372036854775808",
        b"-9223372036854775809",
        b"18446744073709551616",
        b"x",
        "−1".as_bytes(),
    ];
    for word in words {
        for key in ["k", "missing"] {
            let command = format!("RL.ADJUST {key} {}", quoted(word));
            let error = server.error(&command);
            assert!(
                error.starts_with("ERR delta: got '") && error.ends_with(&format!("', expected {DELTA}")),
                "{error}"
            );
        }
    }
    assert_eq!(server.state("k"), before);
    assert_eq!(server.get::<i64>("EXISTS missing"), 0);
    for wrong in ["RL.ADJUST", "RL.ADJUST k", "RL.ADJUST k 1 LIMIT 1 3"] {
        assert!(server.error(wrong).contains("wrong number of arguments"), "{wrong}");
    }
    for right in ["0", "1", "-1", "1000000000000", "-1000000000000"] {
        server.run(&format!("RL.ADJUST missing {right}"));
    }
}

#[test]
fn a_key_that_holds_something_else_is_an_error_and_left_alone() {
    let server = Server::start();
    server.run("RPUSH list a");
    server.run("SET string hello");
    server.run("SET empty \"\"");
    server.five("RL.FIXED newer 5 1h");
    server.run("SETRANGE newer 2 \"\\xfe\"");
    server.run("PEXPIRE newer 100000");
    for (key, error) in [
        ("list", "WRONGTYPE key: got a list, expected limiter state"),
        ("string", "WRONGTYPE key: got a string that is not limiter state, expected limiter state"),
        ("empty", "WRONGTYPE key: got a string that is not limiter state, expected limiter state"),
    ] {
        let before = server.state(key);
        for delta in ["1", "-1", "0"] {
            assert_eq!(server.error(&format!("RL.ADJUST {key} {delta}")), error);
        }
        assert_eq!(server.state(key), before, "{key}");
    }
    let before = server.state("newer");
    let error = server.error("RL.ADJUST newer -1");
    assert!(error.starts_with("ERR key: record version 254 is newer than "), "{error}");
    assert_eq!(server.state("newer"), before);
}

#[test]
fn no_more_than_a_million_million_may_be_in_use() {
    let server = Server::start();
    for (name, limits) in [
        ("TOKENBUCKET", "1000000 1000000000/1ms"),
        ("GCRA", "1000000 1000000000/1ms"),
        ("FIXED", "1000000 1h"),
        ("SLIDINGLOG", "1000000 1h"),
        ("SLIDINGCOUNTER", "1000000 1h"),
    ] {
        server.run("FLUSHALL");
        server.five(&format!("RL.{name} k {limits} 2"));
        let before = server.state("k");
        for delta in ["999999999999", "1000000000000"] {
            let expected = format!("ERR delta: got '{delta}', expected one that leaves at most 1000000000000 in use");
            assert_eq!(server.error(&format!("RL.ADJUST k {delta}")), expected, "{name}");
            assert_eq!(server.state("k"), before, "{name}");
        }
        assert_eq!(server.five("RL.ADJUST k 999999999998")[..4], [1, 1_000_000, 0, 0], "{name}");
        assert_eq!(server.five(&format!("RL.{name} k {limits}"))[..3], [0, 1_000_000, 0], "{name}");
        assert_eq!(server.five("RL.ADJUST k -999999999999")[..4], [1, 1_000_000, 999_999, 0], "{name}");
    }
}

#[test]
fn a_debt_flows_back_within_the_longest_time_a_bucket_may_fill() {
    let server = Server::start();
    for name in ["TOKENBUCKET", "GCRA"] {
        server.run("FLUSHALL");
        server.five(&format!("RL.{name} k 1 1/3650d"));
        let before = server.state("k");
        let expected = "ERR delta: got '1000', expected one that leaves a debt that flows back within 3650000d";
        assert_eq!(server.error("RL.ADJUST k 1000"), expected);
        assert_eq!(server.state("k"), before);
        assert_eq!(server.five("RL.ADJUST k 999"), [1, 1, 0, 0, 3_650_000 * 86_400_000]);
        assert_eq!(server.five("RL.PEEK k"), [0, 1, 0, 1_000 * 3_650 * 86_400_000, 3_650_000 * 86_400_000]);
    }
}

#[test]
fn a_log_holds_no_more_events_than_the_setting_says() {
    let server = Server::start();
    server.run("CONFIG SET rl.sliding-log-max-limit 3");
    for call in ["RL.SLIDINGLOG k 3 1h", "RL.SLIDINGLOG k 3 1h", "RL.ADJUST k 7"] {
        server.five(call);
    }
    let before = server.state("k");
    let expected = "ERR delta: got '5', expected one that leaves at most 3 events in the log \
                    (the setting rl.sliding-log-max-limit)";
    assert_eq!(server.error("RL.ADJUST k 5"), expected);
    assert_eq!(server.state("k"), before);
    // Giving back is always possible, and the dead do not count.
    assert_eq!(server.five("RL.ADJUST k -6")[..3], [1, 3, 0]);
    server.run("CONFIG SET rl.sliding-log-max-limit 1");
    assert_eq!(server.five("RL.ADJUST k -1")[..3], [1, 3, 1]);
    assert!(
        server.error("RL.ADJUST k 1").ends_with("at most 1 events in the log (the setting rl.sliding-log-max-limit)")
    );
}

#[test]
fn errors_are_counted_and_null_is_an_answer() {
    let server = Server::start();
    let counts = || ["rl_adjust_calls", "rl_adjust_errors"].map(|field| server.info(field).parse::<u64>().unwrap());
    assert_eq!(counts(), [0, 0]);
    for (name, limits) in limiters(3) {
        server.five(&format!("RL.{name} {name} {limits}"));
        server.five(&format!("RL.ADJUST {name} 2"));
        server.error(&format!("RL.ADJUST {name} 1000000000000"));
    }
    server.run("RL.ADJUST missing 2");
    server.error("RL.ADJUST missing x");
    server.run("SET string hello");
    server.error("RL.ADJUST string 1");
    assert_eq!(counts(), [6, 7]);
    for name in ["rl_fixed_allowed", "rl_gcra_errors", "rl_slidinglog_refused"] {
        assert_eq!(server.info(name), if name.ends_with("allowed") { "1" } else { "0" }, "{name}");
    }
}
