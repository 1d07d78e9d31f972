//! `BLOCK duration`: once refused, refused for that long.

use std::collections::HashMap;

use redis::Value;

use crate::harness::{M, MS, S, START, Server, peek_of, raw_reply};

/// Limiters of three, which have one back soon after they were full.
const LIMITERS: [&str; 5] =
    ["TOKENBUCKET k 3 1/s", "GCRA k 3 1/s", "FIXED k 3 1s", "SLIDINGLOG k 3 1s", "SLIDINGCOUNTER k 3 1s"];

fn info(server: &Server) -> HashMap<String, i64> {
    let info: HashMap<String, Value> = server.get("RL.INFO k");
    info.into_iter().filter_map(|(name, value)| Some((name, redis::from_redis_value(value).ok()?))).collect()
}

#[test]
fn everything_is_refused_until_it_ends() {
    let server = Server::start();
    for call in LIMITERS {
        server.run("FLUSHALL");
        server.set_clock(START);
        let call = format!("RL.{call}");
        let blocking = format!("{call} 1 BLOCK 15m");
        for left in [2, 1, 0] {
            assert_eq!(server.five(&blocking)[..4], [1, 3, left, 0], "{call}");
        }
        assert_eq!(server.five(&blocking), [0, 3, 0, 900_000, 900_000], "{call}");
        assert_eq!(info(&server)["blocked_ms"], 900_000, "{call}");
        assert_eq!(info(&server)["version"], 2, "{call}");
        // Everything has come back, but the key is blocked; a repeat does not extend it.
        server.advance(5 * M);
        let refused = [0, 3, 0, 600_000, 600_000];
        let before = server.state("k");
        for again in [&call, &blocking, &format!("{call} 3"), &format!("{call} 1 PARTIAL BLOCK 1h")] {
            assert_eq!(server.integers(again)[..5], refused, "{again}");
        }
        for look in ["RL.PEEK k", "RL.PEEK k 3", &peek_of(&call)] {
            assert_eq!(server.five(look), refused, "{call}: {look}");
        }
        assert_eq!(server.five(&format!("{call} 0")), [1, 3, 0, 0, 600_000], "{call}");
        assert_eq!(server.five(&format!("{call} 4")), [0, 3, 0, -1, 600_000], "{call}");
        assert_eq!(server.state("k"), before, "{call}");
        let told = info(&server);
        assert_eq!([told["blocked_ms"], told["used"], told["remaining"]], [600_000, 0, 0], "{call}");
        assert_eq!(told["reset_after_ms"], 600_000, "{call}");

        server.advance(10 * M - 1);
        assert_eq!(server.five(&call)[..4], [0, 3, 0, 1], "{call}");
        server.advance(1);
        assert_eq!(raw_reply(&server, 2, "RL.PEEK k"), "*-1\r\n", "{call}");
        assert!(!info(&server).contains_key("blocked_ms"), "{call}");
        assert_eq!(server.five(&blocking)[..4], [1, 3, 2, 0], "{call}");
        assert_eq!(server.five(&call)[..4], [1, 3, 1, 0], "{call}");
        if !call.contains("LOG") {
            assert_eq!(info(&server)["version"], 1, "{call}");
        }
    }
}

#[test]
fn what_can_never_pass_costs_nothing_or_is_wrong_starts_none() {
    let server = Server::start();
    for call in LIMITERS {
        server.run("FLUSHALL");
        let call = format!("RL.{call}");
        server.five(&format!("{call} 3"));
        let before = server.state("k");
        assert_eq!(server.five(&format!("{call} 4 BLOCK 1h"))[3], -1, "{call}");
        assert_eq!(server.five(&format!("{call} 0 BLOCK 1h"))[0], 1, "{call}");
        assert!(server.error(&format!("{call} 1 BLOCK 60")).starts_with("ERR block: got '60', "), "{call}");
        server.error(&format!("{call} x BLOCK 1h"));
        assert_eq!(server.five(&format!("{call} 1"))[0], 0, "{call}");
        assert_eq!(server.state("k"), before, "{call}");
        // Of a partial call, only a closed limiter can never grant anything.
        assert_eq!(server.integers(&format!("{call} 4 PARTIAL BLOCK 1h"))[3], 3_600_000, "{call}");
    }
}

#[test]
fn the_wait_is_the_longer_of_the_blocks_and_the_limits() {
    let server = Server::start();
    server.five("RL.FIXED k 3 60s 3");
    assert_eq!(server.five("RL.FIXED k 3 60s 1 BLOCK 10s"), [0, 3, 0, 60_000, 60_000]);
    server.advance(10 * S);
    // The block is over, and the window is not: that is refused again, and blocks again.
    assert_eq!(server.five("RL.FIXED k 3 60s"), [0, 3, 0, 50_000, 50_000]);
    assert_eq!(server.five("RL.FIXED k 3 60s 1 BLOCK 55s"), [0, 3, 0, 55_000, 55_000]);
    server.advance(50 * S);
    assert_eq!(server.five("RL.FIXED k 3 60s"), [0, 3, 0, 5_000, 5_000]);
    server.advance(5 * S);
    assert_eq!(server.five("RL.FIXED k 3 60s"), [1, 3, 2, 0, 60_000]);
}

#[test]
fn a_strict_repeat_begins_it_anew_and_never_shortens_it() {
    let server = Server::start();
    for call in LIMITERS {
        server.run("FLUSHALL");
        server.set_clock(START);
        let call = format!("RL.{call}");
        server.five(&format!("{call} 3"));
        assert_eq!(server.five(&format!("{call} 1 BLOCK 10m STRICT"))[3], 600_000, "{call}");
        server.advance(4 * M);
        assert_eq!(server.five(&format!("{call} 1 BLOCK 10m"))[3], 360_000, "{call}");
        assert_eq!(server.five(&format!("{call} 1 STRICT BLOCK 10m"))[3], 600_000, "{call}");
        assert_eq!(server.five(&format!("{call} 1 STRICT BLOCK 1m"))[3], 600_000, "{call}");
        assert_eq!(server.five(&format!("{call} 4 STRICT BLOCK 20m"))[3], -1, "{call}");
        server.advance(10 * M - 1);
        assert_eq!(server.five(&format!("{call} 1"))[3], 1, "{call}");
        // What was refused under the block has counted: nothing is left of the limit at its end.
        assert_eq!(server.five(&format!("{call} 3 STRICT"))[0], 0, "{call}");
        server.advance(1);
        assert_eq!(server.five(&format!("{call} 3"))[0], 0, "{call}");
    }
}

#[test]
fn the_key_lives_as_long_as_its_block() {
    let server = Server::start();
    for call in LIMITERS {
        server.run("FLUSHALL");
        server.set_clock(START);
        server.five(&format!("RL.{call} 3"));
        server.five(&format!("RL.{call} 1 BLOCK 30d"));
        let expires: i64 = server.get("PEXPIRETIME k");
        let (now, end) = (START / MS, 30 * 24 * 3_600_000);
        assert!((now + end..=now + 2 * end).contains(&expires), "{call}: {expires}");
        server.advance(end * MS - 1);
        assert_eq!(server.five(&format!("RL.{call}"))[..4], [0, 3, 0, 1], "{call}");
        server.advance(1);
        assert_eq!(server.five(&format!("RL.{call}"))[..4], [1, 3, 2, 0], "{call}");
    }
}

#[test]
fn a_block_from_a_future_that_the_clock_has_left_behind_begins_now() {
    let server = Server::start();
    for call in LIMITERS {
        server.run("FLUSHALL");
        server.set_clock(START + 3_600 * S);
        server.five(&format!("RL.{call} 3"));
        server.five(&format!("RL.{call} 1 BLOCK 10m"));
        // Ten minutes and less are not too far: the wait is longer by the step.
        server.set_clock(START + 3_000 * S);
        assert_eq!(server.five(&format!("RL.{call}"))[3], 1_200_000, "{call}");
        server.set_clock(START);
        let before = server.state("k");
        assert_eq!(server.five(&peek_of(&format!("RL.{call}")))[3], 600_000, "{call}");
        assert_eq!(server.state("k"), before, "{call}");
        assert_eq!(server.five(&format!("RL.{call} 0"))[4], 600_000, "{call}");
        assert_ne!(server.state("k"), before, "{call}");
        server.advance(M);
        assert_eq!(server.five(&format!("RL.{call}"))[3], 540_000, "{call}");
    }
}

#[test]
fn a_blocked_key_is_state_of_its_own_algorithm_alone() {
    let server = Server::start();
    server.five("RL.FIXED k 1 60s");
    server.five("RL.FIXED k 1 60s 1 BLOCK 60s");
    assert_eq!(server.error("RL.GCRA k 1 1/s"), "WRONGTYPE key: got fixed state, expected gcra state");
    assert_eq!(server.error("RL.GCRA k 1 1/s 1 STRICT"), "WRONGTYPE key: got fixed state, expected gcra state");
    server.run("SET text hello");
    let foreign = "WRONGTYPE key: got a string that is not limiter state, expected gcra state";
    assert_eq!(server.error("RL.GCRA text 1 1/s 1 STRICT"), foreign);
    server.run("DEL k");
    assert_eq!(server.five("RL.FIXED k 1 60s"), [1, 1, 0, 0, 60_000]);
}
