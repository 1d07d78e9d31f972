//! What changes nothing: refusals, costs of 0, looking, and errors.

use redis::Value;

use crate::harness::{S, Server};

/// A call that fills a limiter `k` and one of the same kind that costs one.
const FULL: [(&str, &str); 8] = [
    ("RL.TOKENBUCKET k 3 3/60s 3", "RL.TOKENBUCKET k 3 3/60s"),
    ("RL.GCRA k 3 3/60s 3", "RL.GCRA k 3 3/60s"),
    ("RL.FIXED k 3 60s 3", "RL.FIXED k 3 60s"),
    ("RL.FIXED k 3 60s 3 ALIGNED", "RL.FIXED k 3 60s 1 ALIGNED 7s"),
    ("RL.SLIDINGLOG k 3 60s 3", "RL.SLIDINGLOG k 3 60s"),
    ("RL.SLIDINGLOG k 1 60s", "RL.SLIDINGLOG k 1 60s 1"),
    ("RL.SLIDINGLOG k 1 60s", "RL.SLIDINGLOG k 1 30s"),
    ("RL.SLIDINGCOUNTER k 3 60s 3", "RL.SLIDINGCOUNTER k 3 60s"),
];

/// Calls on a full limiter that must leave no trace: refused now and for ever, free, looking, and wrong.
fn quiet_calls(call: &str) -> Vec<String> {
    let words: Vec<&str> = call.split(' ').collect();
    let four = words[..4].join(" ");
    let options = words.get(5..).unwrap_or_default().join(" ");
    vec![
        call.into(),
        format!("{four} 4 {options}"),
        format!("{four} 1000000000000 {options}"),
        format!("{four} 0 {options}"),
        format!("{four} x {options}"),
        format!("{four} -1 {options}"),
        format!("{} k 0 {}", words[0], words[3]),
        "RL.PEEK k".into(),
        "RL.PEEK k 0".into(),
        "RL.PEEK k GCRA 10 10".into(),
        "RL.PEEK k FIXED 10 10s".into(),
        "RL.INFO k".into(),
    ]
}

#[test]
fn they_leave_value_expiry_and_dirty_counter_alone() {
    let server = Server::start();
    for (fill, call) in FULL {
        server.run("FLUSHALL");
        assert_eq!(server.five(fill)[0], 1, "{fill}");
        server.advance(S);
        let look = || (server.state("k"), server.info("rdb_changes_since_last_save"));
        let before = look();
        for quiet in quiet_calls(call) {
            let reply = server.try_run(&quiet);
            assert_eq!(look(), before, "{quiet}: {reply:?}");
        }
    }
}

#[test]
fn they_let_a_watched_transaction_pass_and_an_admitted_call_does_not() {
    let server = Server::start();
    for (fill, call) in FULL {
        server.run("FLUSHALL");
        server.five(fill);
        server.advance(S);
        let mut watcher = server.client();
        for quiet in quiet_calls(call) {
            watcher.run("WATCH k");
            let _ = server.try_run(&quiet);
            watcher.run("MULTI");
            watcher.run("PING");
            assert_ne!(watcher.run("EXEC"), Value::Nil, "{quiet}");
        }
        server.advance(120 * S);
        watcher.run("WATCH k");
        assert_eq!(server.five(call)[0], 1, "{call}");
        watcher.run("MULTI");
        watcher.run("PING");
        assert_eq!(watcher.run("EXEC"), Value::Nil, "{call}");
    }
}

#[test]
fn watching_a_missing_key_is_only_disturbed_by_an_admitted_call() {
    let server = Server::start();
    let mut watcher = server.client();
    for (_, call) in FULL {
        server.run("FLUSHALL");
        // The first of them is the call itself, which a new limiter admits.
        for quiet in &quiet_calls(call)[1..] {
            watcher.run("WATCH k");
            let _ = server.try_run(quiet);
            watcher.run("MULTI");
            watcher.run("PING");
            assert_ne!(watcher.run("EXEC"), Value::Nil, "{quiet}");
            assert_eq!(server.get::<i64>("EXISTS k"), 0, "{quiet}");
        }
        watcher.run("WATCH k");
        assert_eq!(server.five(call)[0], 1, "{call}");
        watcher.run("MULTI");
        watcher.run("PING");
        assert_eq!(watcher.run("EXEC"), Value::Nil, "{call}");
    }
}

#[test]
fn they_cause_no_client_side_invalidation() {
    let server = Server::start();
    for (fill, call) in FULL {
        server.run("FLUSHALL");
        server.five(fill);
        let mut tracker = server.client_resp3();
        let (sender, pushes) = std::sync::mpsc::channel();
        tracker.connection().set_push_sender(sender);
        tracker.run("CLIENT TRACKING ON");
        tracker.run("RL.PEEK k");
        tracker.run("GET k");
        for quiet in quiet_calls(call) {
            let _ = server.try_run(&quiet);
        }
        tracker.run("PING");
        let unexpected: Vec<_> = pushes.try_iter().collect();
        assert!(unexpected.is_empty(), "{call}: {unexpected:?}");
        server.advance(120 * S);
        assert_eq!(server.five(call)[0], 1, "{call}");
        tracker.run("PING");
        let invalidated = pushes.try_iter().filter(|push| push.kind == redis::PushKind::Invalidate).count();
        assert_eq!(invalidated, 1, "{call}");
    }
}
