//! Every key goes away by itself, never too early, and its expiry moves only when it must.

use std::collections::BTreeSet;

use crate::harness::{DAY, H, MS, S, START, Server, assert_expiry, wait_until};

#[test]
fn the_expiry_covers_what_matters_and_at_most_twice_that_or_two_seconds_more() {
    let server = Server::start();
    for (command, needed) in [
        ("RL.TOKENBUCKET k 1000 1000/s", 1),
        ("RL.TOKENBUCKET k 10 1/d", DAY / MS),
        ("RL.GCRA k 1000 1000/s 1000", 1000),
        ("RL.GCRA k 1000 1/3650d 1000", 3_650_000 * DAY / MS),
        ("RL.FIXED k 10 1ms", 1),
        ("RL.FIXED k 10 3650d", 3650 * DAY / MS),
        ("RL.FIXED k 10 1h ALIGNED 10m", 600_000),
        ("RL.SLIDINGLOG k 10 1ms", 1),
        ("RL.SLIDINGLOG k 10 3650d 3", 3650 * DAY / MS),
        ("RL.SLIDINGCOUNTER k 10 1ms", 2),
        ("RL.SLIDINGCOUNTER k 10 10d", 20 * DAY / MS),
    ] {
        server.run("FLUSHALL");
        let reply = server.five(command);
        assert_eq!((reply[0], reply[4]), (1, needed), "{command}");
        assert_expiry(&server, "k", needed, command);
    }
}

#[test]
fn the_expiry_of_a_busy_limiter_moves_seldom() {
    let server = Server::start();
    for command in [
        "RL.TOKENBUCKET k 100 1000/s",
        "RL.GCRA k 100 1000/s",
        "RL.FIXED k 100 10ms",
        "RL.SLIDINGLOG k 100 10ms",
        "RL.SLIDINGCOUNTER k 100 10ms",
    ] {
        server.run("FLUSHALL");
        let mut expiries = BTreeSet::new();
        for ms in 0..2000 {
            server.set_clock(START + ms * MS);
            let reply = server.five(command);
            assert_eq!(reply[0], 1, "{command}");
            expiries.insert(server.state("k").1);
        }
        // Each is good for at least a second.
        assert!(expiries.len() <= 3, "{command}: {expiries:?}");
    }
}

#[test]
fn a_foreign_expiry_or_its_loss_is_mended_when_the_expiry_next_moves() {
    let server = Server::start();
    for (command, later) in [
        ("RL.TOKENBUCKET k 10 10/60s", H),
        ("RL.GCRA k 10 10/60s", H),
        ("RL.FIXED k 10 60s", H),
        ("RL.SLIDINGLOG k 10 60s", H),
        ("RL.SLIDINGLOG k 10 60s 2", H),
        ("RL.SLIDINGCOUNTER k 10 60s", H),
    ] {
        for foreign in ["PERSIST k", "PEXPIRE k 1000000000"] {
            server.run("FLUSHALL");
            server.set_clock(START);
            server.five(command);
            server.run(foreign);
            server.advance(later);
            let reply = server.five(command);
            assert_eq!(reply[0], 1, "{command}");
            assert_expiry(&server, "k", reply[4], &format!("{command} after {foreign}"));
        }
    }
}

#[test]
fn an_idle_key_is_deleted_by_the_server_without_a_call() {
    let server = Server::start();
    server.five("RL.FIXED k 10 60s");
    let expires = server.state("k").1;
    server.set_clock(expires * MS);
    assert_eq!(server.get::<i64>("EXISTS k"), 1);
    server.advance(MS);
    wait_until("the key is gone", || server.get::<i64>("DBSIZE") == 0);
    assert_eq!(server.five("RL.FIXED k 10 60s"), [1, 10, 9, 0, 60_000]);
}

#[test]
fn a_refused_call_on_an_expired_key_creates_none() {
    let server = Server::start();
    for command in ["RL.TOKENBUCKET k 10 1/s", "RL.FIXED k 10 1s", "RL.SLIDINGLOG k 10 1s", "RL.SLIDINGCOUNTER k 10 1s"]
    {
        server.five(command);
        server.advance(100 * S);
        assert_eq!(server.five(&format!("{command} 11"))[..4], [0, 10, 10, -1], "{command}");
        assert_eq!(server.get::<i64>("EXISTS k"), 0, "{command}");
    }
}
