//! `STRICT`: refused calls count.

use crate::harness::{MS, S, START, Server, peek_of};

#[test]
fn a_bucket_is_emptied_by_a_call_that_it_refuses() {
    let server = Server::start();
    for name in ["TOKENBUCKET", "GCRA"] {
        server.set_clock(START);
        let call = format!("RL.{name} {name} 3 1/s");
        assert_eq!(server.five(&format!("{call} 2 STRICT")), [1, 3, 1, 0, 2_000]);
        // One is left; two are wanted: it goes too.
        assert_eq!(server.five(&format!("{call} 2 STRICT")), [0, 3, 0, 2_000, 3_000]);
        // Who keeps asking keeps waiting.
        for _ in 0..5 {
            server.advance(900 * MS);
            assert_eq!(server.five(&format!("{call} 1 STRICT")), [0, 3, 0, 1_000, 3_000]);
        }
        server.advance(S - 1);
        assert_eq!(server.five(&peek_of(&format!("{call} 1 STRICT")))[0], 0);
        server.advance(1);
        assert_eq!(server.five(&format!("{call} 1 STRICT")), [1, 3, 0, 0, 3_000]);
        // More than can ever pass counts as well.
        server.run(&format!("DEL {name}"));
        assert_eq!(server.five(&format!("{call} 4 STRICT")), [0, 3, 0, -1, 3_000]);
        assert_eq!(server.five(&call), [0, 3, 0, 1_000, 3_000]);
    }
}

#[test]
fn a_window_is_used_up_by_a_call_that_it_refuses() {
    let server = Server::start();
    for (call, reset) in [("FIXED k 3 60s", 60_000), ("SLIDINGCOUNTER k 3 60s", 120_000)] {
        server.run("FLUSHALL");
        server.set_clock(START);
        assert_eq!(server.five(&format!("RL.{call} 2 STRICT")), [1, 3, 1, 0, reset]);
        let refused = server.five(&format!("RL.{call} 2 STRICT"));
        assert_eq!((refused[0], refused[2], refused[4]), (0, 0, reset), "{call}");
        // The whole limit is in use: counting more is no change.
        let before = server.state("k");
        assert_eq!(server.five(&format!("RL.{call} 2 STRICT")), refused);
        assert_eq!(server.state("k"), before, "{call}");
        server.advance(refused[3] * MS - 1);
        assert_eq!(server.five(&peek_of(&format!("RL.{call} 2 STRICT")))[0], 0, "{call}");
        server.advance(1);
        assert_eq!(server.five(&format!("RL.{call} 2 STRICT"))[0], 1, "{call}");
    }
}

#[test]
fn a_full_log_drops_its_oldest_weight_for_a_call_that_it_refuses() {
    let server = Server::start();
    let info = |field: &str| -> i64 {
        let info: std::collections::HashMap<String, redis::Value> = server.get("RL.INFO k");
        redis::from_redis_value(info[field].clone()).unwrap()
    };
    for second in 0..3 {
        server.set_clock(START + second * S);
        assert_eq!(server.five("RL.SLIDINGLOG k 3 60s 1 STRICT")[0], 1);
    }
    server.set_clock(START + 10 * S);
    // Events at 0, 1 and 2 s become 1, 2 and 10 s.
    assert_eq!(server.five("RL.SLIDINGLOG k 3 60s 1 STRICT"), [0, 3, 0, 51_000, 60_000]);
    assert_eq!((info("used"), info("events")), (3, 3));
    server.set_clock(START + 11 * S);
    assert_eq!(server.five("RL.SLIDINGLOG k 3 60s 2 STRICT"), [0, 3, 0, 60_000, 60_000]);
    assert_eq!((info("used"), info("events")), (3, 2));
    // For thousands of calls, the log stays as small as its limit allows.
    for call in 0..2_000 {
        server.advance(MS);
        assert_eq!(server.five("RL.SLIDINGLOG k 3 60s 1 STRICT")[0], 0, "{call}");
        assert!(server.get::<usize>("STRLEN k") <= 28 + 2 * 3 * 16);
    }
    assert_eq!(info("used"), 3);
    server.advance(60 * S - 1_999 * MS);
    assert_eq!(server.five("RL.SLIDINGLOG k 3 60s")[0], 0);
}

#[test]
fn a_refused_call_that_counts_is_a_change_but_no_event() {
    let server = Server::start();
    for (fill, call) in [
        ("RL.TOKENBUCKET k 3 1/h 2", "RL.TOKENBUCKET k 3 1/h 2 STRICT"),
        ("RL.FIXED k 3 60s 2", "RL.FIXED k 3 60s 2 STRICT"),
        ("RL.SLIDINGLOG k 3 60s 2", "RL.SLIDINGLOG k 3 60s 2 STRICT"),
        ("RL.SLIDINGCOUNTER k 3 60s 2", "RL.SLIDINGCOUNTER k 3 60s 2 STRICT"),
        ("RL.GCRA k 3 1/h 3", "RL.GCRA k 3 1/h 2 BLOCK 60s"),
    ] {
        server.run("FLUSHALL");
        server.five(fill);
        let mut watcher = server.client();
        let dirty = || server.info("rdb_changes_since_last_save").parse::<u64>().unwrap();
        let before = dirty();
        watcher.run("WATCH k");
        assert_eq!(server.five(call)[0], 0, "{call}");
        watcher.run("MULTI");
        watcher.run("PING");
        assert_eq!(watcher.run("EXEC"), redis::Value::Nil, "{call}");
        assert_eq!(dirty(), before + 1, "{call}");
    }
}
