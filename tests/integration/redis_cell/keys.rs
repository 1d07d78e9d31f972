//! Keys that redis-cell has left, and the way back.

use redis::Value;

use super::{ON, cell, drop_in, load};
use crate::harness::{MS, S, START, Server, Stream, shown, wait_until};

/// What redis-cell stores for an arrival time so many microseconds from the start of the test.
fn arrival(us: i64) -> String {
    format!("{}000", START + us)
}

fn leave(server: &Server, us: i64) {
    server.run(&format!("SET k {} PXAT {}", arrival(us), (START + us) / MS));
}

#[test]
fn a_key_of_redis_cell_goes_on_with_its_debt() {
    let other = cell().start();
    let ours = Server::builder().config("rl.cl-throttle", "yes").clock(other.clock()).start();
    for (limits, taken) in [("15 30 60", 10), ("0 1 1", 1), ("4 1 1", 5), ("99 100 3600", 42)] {
        other.set_clock(START);
        other.run("FLUSHALL");
        ours.run("FLUSHALL");
        let call = format!("CL.THROTTLE k {limits}");
        assert_eq!(other.five(&format!("{call} {taken}"))[0], 0);
        other.advance(300 * MS);
        // As a dump, a replica or a migration carries it.
        let (dump, expiry): (Vec<u8>, i64) = other.state("k");
        ours.send(&[b"RESTORE", &b"k"[..], expiry.to_string().as_bytes(), &dump, b"ABSTTL"]).unwrap();
        for pause in [0, 0, 500 * MS, S, 0, 3 * S, 0, 60 * S] {
            other.advance(pause);
            for quantity in ["3", "1", "1"] {
                let call = format!("{call} {quantity}");
                assert_eq!(ours.five(&call), other.five(&call), "{call}");
            }
        }
    }
}

#[test]
fn under_other_limits_it_owes_the_time_until_its_arrival() {
    let server = drop_in();
    // 20 s ahead: 10 of 30 a minute, 20 of one a second, 2 of 6 a minute.
    for (limits, five) in [
        ("15 30 60 0", [0, 16, 6, -1, 20]),
        ("15 30 60", [0, 16, 5, -1, 22]),
        ("29 1 1", [0, 30, 9, -1, 21]),
        ("4 6 60", [0, 5, 2, -1, 30]),
        // Lowered: more is owed than could ever be at once.
        ("4 1 1", [1, 5, 0, 16, 20]),
        ("0 1 1", [1, 1, 0, 20, 20]),
        ("0 30 60 2", [1, 1, 0, -1, 20]),
        ("0 1 60", [1, 1, 0, 20, 20]),
        ("1 1 60", [0, 2, 0, -1, 80]),
    ] {
        for name in ["RL.THROTTLE", "CL.THROTTLE"] {
            leave(&server, 20 * S);
            let call = format!("{name} k {limits}");
            assert_eq!(server.five(&call), five, "{call}");
            if five[3] > 0 {
                server.advance((five[3] - 1) * S);
                assert_eq!(server.five(&call)[0], 1, "{call}: a second less is too little");
                server.advance(S);
                // The key may have expired by then, which is as well.
                assert_eq!(server.five(&call)[0], 0, "{call}");
                server.set_clock(START);
            }
        }
    }
}

#[test]
fn until_a_call_is_admitted_the_key_stays_as_redis_cell_left_it() {
    let server = drop_in();
    let mut stream = Stream::attach(&server);
    leave(&server, 5 * S);
    stream.news();
    let look = || (server.state("k"), server.info("rdb_changes_since_last_save"));
    let before = look();
    for quiet in ["CL.THROTTLE k 4 1 1", "RL.THROTTLE k 4 1 1 6", "RL.THROTTLE k 4 1 1 0", "CL.THROTTLE k 4 1 1 x"] {
        let _ = server.try_run(quiet);
        assert_eq!(look(), before, "{quiet}");
        assert_eq!(server.get::<String>("GET k"), arrival(5 * S), "{quiet}");
    }
    assert_eq!(stream.lines(), [""; 0]);

    server.advance(S);
    assert_eq!(server.five("CL.THROTTLE k 4 1 1"), [0, 5, 0, -1, 5]);
    let record: Vec<u8> = server.get("GET k");
    assert_eq!(&record[..4], b"RL\x01\x02");
    let expiry = server.state("k").1;
    assert!(expiry * MS >= START + 6 * S && expiry * MS <= START + 12 * S, "{expiry}");
    assert_eq!(stream.lines(), [format!("SET k {} PXAT {expiry}", shown(&record))]);
}

#[test]
fn a_key_without_an_expiry_or_from_the_past_owes_nothing_and_gets_one() {
    let server = drop_in();
    for us in [-S, -1, 0] {
        server.run(&format!("SET k {}", arrival(us)));
        assert_eq!(server.five("CL.THROTTLE k 4 1 1 0"), [0, 5, 5, -1, 0]);
        assert_eq!(server.state("k").1, -1);
        assert_eq!(server.five("CL.THROTTLE k 4 1 1"), [0, 5, 4, -1, 1]);
        assert!(server.state("k").1 > 0);
    }
    // To the nanosecond: one is as good as a microsecond.
    server.run(&format!("SET k {}001", START));
    assert_eq!(server.five("CL.THROTTLE k 0 1 1"), [1, 1, 0, 1, 1]);
}

#[test]
fn any_other_string_is_a_wrong_type_and_other_commands_do_not_take_these() {
    let server = drop_in();
    for stray in [
        "\"\"",
        "0",
        "12345",
        "999999999999999999",
        "-172800000000000000",
        "-7637260132274145208",
        "+172800000000000000",
        "0172800000000000000",
        "9223372036854775808",
        "17280000000000000000",
        "1728000000.00000000",
        "172800000000000000x",
        "\"1728000000000000000 \"",
        "hello",
    ] {
        server.run(&format!("SET k {stray}"));
        let before = server.state("k");
        for name in ["RL.THROTTLE", "CL.THROTTLE"] {
            let error = server.error(&format!("{name} k 4 1 1"));
            let expected = "WRONGTYPE key: got a string that is not limiter state, expected gcra state";
            assert_eq!(error, expected, "{stray}");
        }
        assert_eq!(server.state("k"), before, "{stray}");
    }
    leave(&server, S);
    let before = server.state("k");
    for call in [
        "RL.GCRA k 5 1",
        "RL.TOKENBUCKET k 5 1",
        "RL.FIXED k 5 1s",
        "RL.PEEK k",
        "RL.PEEK k GCRA 5 1",
        "RL.INFO k",
        "RL.ADJUST k -1",
    ] {
        assert!(server.error(call).starts_with("WRONGTYPE "), "{call}");
    }
    assert_eq!(server.state("k"), before);
    server.run("DEL k");
    server.run("RPUSH k 1728000000000000000");
    assert_eq!(server.error("CL.THROTTLE k 4 1 1"), "WRONGTYPE key: got a list, expected gcra state");
    server.run("DEL k");
    server.run("RL.FIXED k 5 1s");
    assert_eq!(server.error("RL.THROTTLE k 4 1 1"), "WRONGTYPE key: got fixed state, expected gcra state");
}

#[test]
fn what_it_wrote_comes_back_from_the_append_only_file_and_reaches_a_replica_without_the_module() {
    let mut server = Server::builder().config("rl.cl-throttle", "yes").config("appendonly", "yes").start();
    let replica = Server::builder().without_module().replica_of(&server).start();
    server.wait_for_replicas(1);
    leave(&server, 20 * S);
    for _ in 0..3 {
        assert_eq!(server.five("CL.THROTTLE k 15 30 60")[0], 0);
        assert_eq!(server.five("RL.THROTTLE new 15 30 60")[0], 0);
    }
    server.run("SET left 1728000030000000000 PXAT 1728000030000");
    server.wait_for_replicas(1);
    let states = ["k", "new", "left"].map(|key| server.state(key));
    assert_eq!(["k", "new", "left"].map(|key| replica.state(key)), states);
    server.kill();
    server.relaunch();
    assert_eq!(["k", "new", "left"].map(|key| server.state(key)), states);
    assert_eq!(server.five("CL.THROTTLE k 15 30 60"), [0, 16, 2, -1, 28]);
    assert_eq!(server.five("CL.THROTTLE new 15 30 60"), [0, 16, 12, -1, 8]);
    assert_eq!(server.five("CL.THROTTLE left 15 30 60"), [0, 16, 0, -1, 32]);
}

#[test]
fn a_replica_of_a_server_with_redis_cell_takes_its_calls_and_goes_on_as_the_primary() {
    let primary = cell().start();
    let replica = Server::builder().config("rl.cl-throttle", "yes").replica_of(&primary).start();
    primary.wait_for_replicas(1);
    // redis-cell has its replicas repeat the calls.
    for _ in 0..16 {
        assert_eq!(primary.five("CL.THROTTLE k 15 30 60")[0], 0);
    }
    assert_eq!(primary.five("CL.THROTTLE k 15 30 60"), [1, 16, 0, 2, 32]);
    primary.wait_for_replicas(1);
    assert_eq!(replica.five("RL.PEEK k"), [0, 16, 0, 2_000, 32_000]);
    replica.run("REPLICAOF NO ONE");
    assert_eq!(replica.five("CL.THROTTLE k 15 30 60"), [1, 16, 0, 2, 32]);
    replica.advance(2 * S);
    assert_eq!(replica.five("CL.THROTTLE k 15 30 60"), [0, 16, 0, -1, 32]);
}

#[test]
fn an_append_only_file_that_redis_cell_has_written_is_loaded() {
    let mut server = cell().config("appendonly", "yes").config("aof-use-rdb-preamble", "no").start();
    for _ in 0..3 {
        server.run("CL.THROTTLE k 15 30 60");
    }
    server.run(&load(""));
    // A rewrite leaves what the calls have made of the key, and no calls.
    server.run("BGREWRITEAOF");
    wait_until("the file is rewritten", || server.info("aof_rewrite_in_progress") == "0");
    server.run("CL.THROTTLE k 15 30 60");
    server.run("MODULE UNLOAD redis-cell");
    server.run("MODULE UNLOAD rl");
    server.run(&load(ON));
    server.run("DEBUG LOADAOF");
    assert_eq!(server.five("CL.THROTTLE k 15 30 60"), [0, 16, 11, -1, 10]);
    server.kill();
}

#[test]
fn the_way_back_leaves_an_arrival_time_that_redis_cell_reads() {
    let server = drop_in();
    assert_eq!(server.five("CL.THROTTLE k 15 30 60 10"), [0, 16, 6, -1, 20]);
    server.advance(1_234_567);
    let script = super::way_back();
    let call = |key: &str| server.send(&["EVAL", &script, "1", key]);
    assert_eq!(call("k"), Ok(Value::Okay));
    // Rounded up to the millisecond, as waits are.
    assert_eq!(server.get::<String>("GET k"), arrival(20 * S + 567));
    assert_eq!(server.get::<i64>("PTTL k"), 18_766);
    assert_eq!(server.five("CL.THROTTLE k 15 30 60 0"), [0, 16, 6, -1, 19]);
    assert_eq!(call("missing"), Ok(Value::Nil));
    server.run("MODULE UNLOAD rl");
    server.run(&format!("MODULE LOAD {}", crate::harness::cell_module().display()));
    assert_eq!(server.five("CL.THROTTLE k 15 30 60"), [0, 16, 5, -1, 21]);
}
