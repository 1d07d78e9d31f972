//! What `RL.THROTTLE` and `CL.THROTTLE` answer.

use redis::Value;

use super::{cell, drop_in};
use crate::harness::{MS, Random, S, START, Server, Step, Stream};

/// Plays a table under both names.
fn play(steps: &[Step<'_>]) {
    let server = drop_in();
    for name in ["RL.THROTTLE", "CL.THROTTLE"] {
        server.run("FLUSHALL");
        for &(at, arguments, expected) in steps {
            server.set_clock(START + at);
            assert_eq!(server.five(&format!("{name} {arguments}")), expected, "{name} {arguments} at {at} us");
        }
    }
}

#[test]
fn the_example_that_redis_cell_shows_is_answered_as_it_shows() {
    play(&[(0, "user123 15 30 60", [0, 16, 15, -1, 2]), (0, "user123 15 30 60 1", [0, 16, 14, -1, 4])]);
}

#[test]
fn a_burst_drains_and_a_wait_is_told_in_whole_seconds() {
    play(&[
        (0, "k 4 1 1 6", [1, 5, 5, -1, 0]),
        (0, "k 4 1 1", [0, 5, 4, -1, 1]),
        (0, "k 4 1 1 4", [0, 5, 0, -1, 5]),
        (0, "k 4 1 1", [1, 5, 0, 1, 5]),
        (999 * MS, "k 4 1 1", [1, 5, 0, 1, 5]),
        (S, "k 4 1 1", [0, 5, 0, -1, 5]),
        (9_500 * MS, "k 4 1 1 2", [0, 5, 3, -1, 2]),
        (9_500 * MS, "k 4 1 1 5", [1, 5, 3, 2, 2]),
        (9_500 * MS, "k 4 1 1 0", [0, 5, 3, -1, 2]),
    ]);
}

#[test]
fn a_wait_is_never_0_seconds_and_never_too_short() {
    // redis-cell once rounded down: a caller came back too early, or at once.
    play(&[
        (0, "k 0 1000 1", [0, 1, 0, -1, 1]),
        (0, "k 0 1000 1", [1, 1, 0, 1, 1]),
        (MS, "k 0 1000 1", [0, 1, 0, -1, 1]),
    ]);
    let server = drop_in();
    for (limits, quantity) in [("0 3 7", 1), ("2 7 60", 2), ("10 1000 3", 11), ("0 1 1", 1), ("99 100 86400", 50)] {
        let call = format!("CL.THROTTLE k {limits} {quantity}");
        server.run("FLUSHALL");
        while server.five(&call)[0] == 0 {
            server.advance(MS + 1);
        }
        let [_, _, _, wait, _] = server.five(&call);
        assert!(wait >= 1, "{call}");
        server.advance((wait - 1) * S);
        assert_eq!(server.five(&call)[0], 1, "{call}: a second less is too little");
        server.advance(S);
        assert_eq!(server.five(&call)[0], 0, "{call}: after {wait} s");
    }
}

#[test]
fn a_quantity_of_0_only_looks() {
    let server = drop_in();
    let mut stream = Stream::attach(&server);
    for name in ["RL.THROTTLE", "CL.THROTTLE"] {
        server.run("FLUSHALL");
        stream.news();
        assert_eq!(server.five(&format!("{name} k 4 1 1 0")), [0, 5, 5, -1, 0]);
        assert_eq!(server.get::<i64>("EXISTS k"), 0);
        assert_eq!(server.five(&format!("{name} k 4 1 1 5")), [0, 5, 0, -1, 5]);
        stream.news();
        let before = (server.state("k"), server.info("rdb_changes_since_last_save"));
        // Allowed, as any look is, even under limits that leave nothing.
        for (limits, five) in [("4 1 1", [0, 5, 0, -1, 5]), ("0 1 1", [0, 1, 0, -1, 5]), ("9 1 1", [0, 10, 5, -1, 5])] {
            assert_eq!(server.five(&format!("{name} k {limits} 0")), five, "{limits}");
        }
        assert_eq!((server.state("k"), server.info("rdb_changes_since_last_save")), before);
        assert_eq!(stream.lines(), [""; 0]);
    }
}

#[test]
fn what_can_never_be_allowed_is_limited_with_no_wait_to_tell() {
    play(&[
        (0, "k 0 1 1 2", [1, 1, 1, -1, 0]),
        (0, "k 4 1 1 2", [0, 5, 3, -1, 2]),
        (0, "k 4 1 1 6", [1, 5, 3, -1, 2]),
        (0, "k 4 1 1 1000000000000", [1, 5, 3, -1, 2]),
        (0, "k 999999999999 1000000000000 1 1000000000000", [1, 1_000_000_000_000, 999_999_999_998, 1, 1]),
    ]);
}

#[test]
fn it_answers_as_redis_cell_does() {
    let other = cell().start();
    let ours = Server::builder().config("rl.cl-throttle", "yes").clock(other.clock()).start();
    let mut random = Random::new(7);
    for round in 0..60 {
        // Intervals of whole microseconds, which the nanoseconds of redis-cell hold without a rest.
        let (count, period) = random.of(&[(1, 1), (2, 1), (10, 1), (100, 1), (30, 60), (6, 60), (100, 3600), (5, 2)]);
        let burst = random.of(&[0, 1, 4, 15, 100]);
        for _ in 0..40 {
            let quantity = random.of(&[1, 1, 1, 1, 2, 3, burst + 1, burst + 2]);
            let call = format!("CL.THROTTLE k:{round} {burst} {count} {period} {quantity}");
            assert_eq!(ours.five(&call), other.five(&call), "{call}");
            let interval = period * S / count;
            other.advance(random.of(&[0, 0, 0, 1, interval / 2, interval, interval + 1, interval * burst / 2]));
        }
    }
}

#[test]
fn the_state_is_that_of_gcra_and_other_limits_act_at_once() {
    let server = drop_in();
    assert_eq!(server.five("RL.THROTTLE k 15 30 60 10"), [0, 16, 6, -1, 20]);
    assert_eq!(server.five("RL.GCRA k 16 30/60s 6"), [1, 16, 0, 0, 32_000]);
    assert_eq!(server.five("CL.THROTTLE k 15 30 60"), [1, 16, 0, 2, 32]);
    assert_eq!(server.five("RL.PEEK k"), [0, 16, 0, 2_000, 32_000]);
    let info: Vec<Value> = server.get("RL.INFO k");
    assert_eq!(info[1], Value::BulkString(b"gcra".into()));
    assert_eq!(info[3], Value::Int(16), "burst");
    assert_eq!(server.five("CL.THROTTLE k 31 30 60"), [0, 32, 15, -1, 34]);
    assert_eq!(server.five("CL.THROTTLE k 0 30 60"), [1, 1, 0, 34, 34]);
    assert_eq!(server.five("RL.PEEK k GCRA 1 30/60s"), [0, 1, 0, 34_000, 34_000]);
}

#[test]
fn a_limited_call_leaves_no_trace() {
    let server = drop_in();
    assert_eq!(server.five("CL.THROTTLE k 0 1 60")[0], 0);
    let before = (server.state("k"), server.info("rdb_changes_since_last_save"));
    let mut watcher = server.client();
    watcher.run("WATCH k");
    assert_eq!(server.five("CL.THROTTLE k 0 1 60")[0], 1);
    assert_eq!(server.five("RL.THROTTLE k 0 1 60 2")[0], 1);
    assert_eq!((server.state("k"), server.info("rdb_changes_since_last_save")), before);
    watcher.run("MULTI");
    watcher.run("PING");
    assert_ne!(watcher.run("EXEC"), Value::Nil);
    watcher.run("WATCH k");
    server.advance(60 * S);
    assert_eq!(server.five("CL.THROTTLE k 0 1 60")[0], 0);
    watcher.run("MULTI");
    watcher.run("PING");
    assert_eq!(watcher.run("EXEC"), Value::Nil);
}

#[test]
fn its_calls_are_counted_with_those_of_gcra() {
    let server = drop_in();
    let counts = || ["allowed", "refused", "errors"].map(|ending| server.info(&format!("rl_gcra_{ending}")));
    server.run("SET string hello");
    for call in ["k 0 1 60", "k 0 1 60", "k 0 1 60 0", "k 0 0 60", "string 0 1 60"] {
        for name in ["RL.THROTTLE", "CL.THROTTLE"] {
            let _ = server.try_run(&format!("{name} {call}"));
        }
    }
    // The first call is allowed, its like and the next two are not.
    assert_eq!(counts(), ["3", "3", "4"]);
}

#[test]
fn a_wrong_argument_is_an_error_that_names_it_as_redis_cell_does() {
    let server = drop_in();
    for name in ["RL.THROTTLE", "CL.THROTTLE"] {
        for (arguments, error) in [
            ("-1 1 1", "max_burst: got '-1', expected an integer from 0 to 999999999999"),
            ("1000000000000 1 1", "max_burst: got '1000000000000', expected an integer from 0 to 999999999999"),
            ("0 0 60", "count: got '0', expected an integer from 1 to 1000000000000"),
            ("0 1.5 60", "count: got '1.5', expected an integer from 1 to 1000000000000"),
            ("0 1 0", "period: got '0', expected an integer from 1 to 315360000"),
            ("0 1 60s", "period: got '60s', expected an integer from 1 to 315360000"),
            ("0 1 315360001", "period: got '315360001', expected an integer from 1 to 315360000"),
            ("0 1 60 -1", "quantity: got '-1', expected an integer from 0 to 1000000000000"),
            ("0 1 60 one", "quantity: got 'one', expected an integer from 0 to 1000000000000"),
            ("1000 1 315360000", "count: got '1', expected a rate that fills the bucket within 3650000d"),
        ] {
            assert_eq!(server.error(&format!("{name} k {arguments}")), format!("ERR {error}"));
        }
        for arguments in ["", "k", "k 0 1", "k 0 1 60 1 1"] {
            let error = format!("ERR wrong number of arguments for '{}' command", name.to_lowercase());
            assert_eq!(server.error(&format!("{name} {arguments}")).to_lowercase(), error.to_lowercase());
        }
        assert_eq!(server.get::<i64>("DBSIZE"), 0);
        assert_eq!(server.five(&format!("{name} k 999 1 315360000")), [0, 1_000, 999, -1, 315_360_000]);
        server.run("FLUSHALL");
    }
}

#[test]
fn a_block_on_the_key_is_obeyed() {
    let server = drop_in();
    server.run("RL.GCRA k 1 1/10s");
    assert_eq!(server.five("RL.GCRA k 1 1/10s BLOCK 5m"), [0, 1, 0, 300_000, 300_000]);
    for name in ["RL.THROTTLE", "CL.THROTTLE"] {
        assert_eq!(server.five(&format!("{name} k 0 1 10")), [1, 1, 0, 300, 300]);
        assert_eq!(server.five(&format!("{name} k 0 1 10 0")), [0, 1, 0, -1, 300]);
    }
    server.advance(300 * S);
    assert_eq!(server.five("CL.THROTTLE k 0 1 10"), [0, 1, 0, -1, 10]);
}
