//! Options together, their order, and what is wrong about them.

use crate::harness::{Server, peek_of};

#[test]
fn they_come_in_any_order_and_in_either_case() {
    let server = Server::start();
    for options in ["PARTIAL STRICT BLOCK 1h", "block 1h partial strict", "Strict Block 60m Partial"] {
        for call in ["TOKENBUCKET k 3 1/h", "FIXED k 3 1h", "SLIDINGLOG k 3 1h", "SLIDINGCOUNTER k 3 1h"] {
            server.run("DEL k");
            assert_eq!(server.integers(&format!("RL.{call} 5 {options}"))[5], 3, "{call} {options}");
            // Without a cost, too.
            let refused = server.integers(&format!("RL.{call} {options}"));
            assert_eq!((refused[0], refused[5]), (0, 0), "{call} {options}");
        }
    }
    for call in [
        "RL.FIXED f 10 1d 1 ALIGNED 22h PARTIAL",
        "RL.FIXED f 10 1d 1 PARTIAL ALIGNED 22h",
        "RL.FIXED f 10 1d ALIGNED 22h PARTIAL",
        "RL.FIXED f 10 1d PARTIAL ALIGNED 22h",
    ] {
        server.run("DEL f");
        assert_eq!(server.integers(call), [1, 10, 9, 0, 22 * 3_600_000, 1], "{call}");
    }
    assert_eq!(server.integers("RL.FIXED g 10 1d ALIGNED PARTIAL"), [1, 10, 9, 0, 86_400_000, 1]);
}

#[test]
fn a_look_answers_what_the_call_would_the_sixth_element_included() {
    let server = Server::start();
    for call in [
        "RL.TOKENBUCKET k 3 1/s 2 RESERVE 2s",
        "RL.TOKENBUCKET k 3 1/s 2 PARTIAL",
        "RL.GCRA k 3 1/s 2 STRICT BLOCK 10s RESERVE 1ms",
        "RL.FIXED k 3 10s 2 PARTIAL BLOCK 1m",
        "RL.FIXED k 3 10s 2 STRICT",
        "RL.SLIDINGLOG k 3 10s 2 STRICT",
        "RL.SLIDINGCOUNTER k 3 10s 2 PARTIAL STRICT",
    ] {
        server.run("DEL k");
        for _ in 0..4 {
            let before = server.state("k");
            let peeked = server.integers(&peek_of(call));
            assert_eq!(server.state("k"), before, "{call}");
            assert_eq!(server.integers(call), peeked, "{call}");
            server.advance(500_000);
        }
    }
}

#[test]
fn errors_name_the_option() {
    let server = Server::start();
    let durations = "with its unit (ms, s, m, h or d), such as 60s";
    let max_wait = format!("a duration from 0ms to 3650d {durations}");
    let block = format!("a duration from 1ms to 3650d {durations}");
    let unit = |what: &str| format!("a number with a unit: {what}");
    for (call, argument, got, expected) in [
        ("RL.TOKENBUCKET k 1 1 1 RESERVE x", "max_wait", "x", max_wait.clone()),
        ("RL.TOKENBUCKET k 1 1 1 RESERVE 0", "max_wait", "0", unit(&max_wait)),
        ("RL.GCRA k 1 1 RESERVE 3651d", "max_wait", "3651d", max_wait.clone()),
        ("RL.GCRA k 1 1 RESERVE STRICT", "max_wait", "STRICT", max_wait),
        ("RL.FIXED k 1 1s 1 BLOCK 0ms", "block", "0ms", block.clone()),
        ("RL.FIXED k 1 1s BLOCK 15", "block", "15", unit(&block)),
        ("RL.SLIDINGLOG k 1 1s 1 BLOCK 3651d", "block", "3651d", block),
        ("RL.GCRA k 1 1 STRICT strict", "option", "strict", "each option at most once".into()),
        ("RL.GCRA k 1 1 BLOCK 1s BLOCK 1s", "option", "BLOCK", "each option at most once".into()),
        ("RL.FIXED k 1 1s ALIGNED PARTIAL ALIGNED", "option", "ALIGNED", "each option at most once".into()),
        ("RL.GCRA k 1 1 PARTIAL RESERVE 1s", "option", "RESERVE", "PARTIAL or RESERVE, not both".into()),
        ("RL.GCRA k 1 1 RESERVE 1s PARTIAL", "option", "PARTIAL", "PARTIAL or RESERVE, not both".into()),
        (
            "RL.GCRA k 1 1 1 STRICTLY",
            "option",
            "STRICTLY",
            "PARTIAL, RESERVE max_wait, STRICT or BLOCK duration".into(),
        ),
        ("RL.SLIDINGLOG k 1 1s 1 ALIGNED", "option", "ALIGNED", "PARTIAL, STRICT or BLOCK duration".into()),
        ("RL.SLIDINGCOUNTER k 1 1s STRICTLY", "cost", "STRICTLY", "an integer from 0 to 1000000000000".into()),
    ] {
        let error = format!("ERR {argument}: got '{got}', expected {expected}");
        assert_eq!(server.error(call), error, "{call}");
        assert_eq!(server.error(&peek_of(call)), error, "{call}");
    }
    for call in ["RL.GCRA k 1 1 RESERVE", "RL.FIXED k 1 1s 1 BLOCK", "RL.GCRA k 1 1 STRICT 5"] {
        assert!(server.error(call).to_lowercase().starts_with("err wrong number of arguments for 'rl."), "{call}");
    }
    assert_eq!(server.get::<i64>("DBSIZE"), 0);
}

#[test]
fn they_count_by_their_verdict_and_announce_what_is_taken() {
    let server = Server::start();
    for call in ["RL.FIXED k 3 1h 5 PARTIAL", "RL.FIXED k 3 1h 5 PARTIAL", "RL.FIXED k 3 1h 1 STRICT BLOCK 1m"] {
        server.integers(call);
    }
    for (field, count) in [("rl_fixed_allowed", "1"), ("rl_fixed_refused", "2"), ("rl_fixed_errors", "0")] {
        assert_eq!(server.info(field), count, "{field}");
    }
    server.integers("RL.GCRA g 1 1/s 1 RESERVE 1s");
    server.integers("RL.GCRA g 1 1/s 1 RESERVE 1s");
    server.integers("RL.GCRA g 1 1/s 1 RESERVE 1s");
    assert_eq!((server.info("rl_gcra_allowed"), server.info("rl_gcra_refused")), ("2".into(), "1".into()));
}
