//! `RESERVE max_wait`: what is not there yet is booked ahead.

use crate::harness::{MS, S, Server, peek_of};

#[test]
fn callers_are_booked_one_behind_the_other_until_the_wait_is_too_long() {
    let server = Server::start();
    for name in ["TOKENBUCKET", "GCRA"] {
        let call = format!("RL.{name} {name} 2 10/s 1 RESERVE 250ms");
        assert_eq!(server.integers(&call), [1, 2, 1, 0, 100, 0]);
        assert_eq!(server.integers(&call), [1, 2, 0, 0, 200, 0]);
        assert_eq!(server.integers(&call), [1, 2, 0, 0, 300, 100]);
        assert_eq!(server.integers(&call), [1, 2, 0, 0, 400, 200]);
        // The next would have to wait for 300 ms: in 50 ms it could be booked.
        assert_eq!(server.integers(&call), [0, 2, 0, 50, 400, 0]);
        let plain = format!("RL.{name} {name} 2 10/s");
        assert_eq!(server.five(&plain), [0, 2, 0, 300, 400]);
        server.advance(50 * MS - 1);
        assert_eq!(server.integers(&call)[..4], [0, 2, 0, 1]);
        server.advance(1);
        assert_eq!(server.integers(&call), [1, 2, 0, 0, 450, 250]);
        // Who is not booked waits behind those who are.
        server.advance(350 * MS - 1);
        assert_eq!(server.five(&plain)[0], 0);
        server.advance(1);
        assert_eq!(server.five(&plain), [1, 2, 0, 0, 200]);
        server.advance(S);
    }
}

#[test]
fn the_wait_is_rounded_up_and_the_queue_does_not_drift() {
    let server = Server::start();
    // An interval of 333,333.33 us.
    for (n, wait) in (0..30).map(|n: i64| (n, (n * 1_000 + 2) / 3)) {
        let reply = server.integers("RL.GCRA k 1 3/s 1 RESERVE 1h");
        assert_eq!((reply[0], reply[5]), (1, wait), "caller {n}");
    }
}

#[test]
fn a_cost_can_be_booked_up_to_the_capacity_and_no_further() {
    let server = Server::start();
    assert_eq!(server.integers("RL.TOKENBUCKET k 10 1/s 11 RESERVE 3650d"), [0, 10, 10, -1, 0, 0]);
    assert_eq!(server.integers("RL.TOKENBUCKET k 10 1/s 10 RESERVE 0ms"), [1, 10, 0, 0, 10_000, 0]);
    assert_eq!(server.integers("RL.TOKENBUCKET k 10 1/s 1 RESERVE 0ms"), [0, 10, 0, 1_000, 10_000, 0]);
    assert_eq!(server.integers("RL.TOKENBUCKET k 10 1/s 10 RESERVE 10s"), [1, 10, 0, 0, 20_000, 10_000]);
    assert_eq!(server.integers("RL.TOKENBUCKET k 10 1/s 0 RESERVE 10s"), [1, 10, 0, 0, 20_000, 0]);
    assert_eq!(server.five("RL.PEEK k 5"), [0, 10, 0, 15_000, 20_000]);
    let info: std::collections::HashMap<String, redis::Value> = server.get("RL.INFO k");
    assert_eq!((&info["used"], &info["remaining"]), (&redis::Value::Int(20), &redis::Value::Int(0)));
}

#[test]
fn a_booking_outlives_the_time_to_fill() {
    let server = Server::start();
    for _ in 0..100 {
        assert_eq!(server.integers("RL.GCRA k 1 1/s 1 RESERVE 2m")[0], 1);
    }
    let expires: i64 = server.get("PEXPIRETIME k");
    assert!(expires >= server.clock().now() / MS + 100_000, "{expires}");
    server.advance(98 * S);
    assert_eq!(server.five("RL.GCRA k 1 1/s"), [0, 1, 0, 2_000, 2_000]);
}

#[test]
fn windows_cannot_be_booked_ahead() {
    let server = Server::start();
    for call in ["FIXED k 2 1s", "SLIDINGLOG k 2 1s", "SLIDINGCOUNTER k 2 1s"] {
        let expected =
            "ERR option: got 'RESERVE', expected it with TOKENBUCKET or GCRA only: a window cannot be booked ahead";
        let call = format!("RL.{call} 1 RESERVE 1s");
        assert_eq!(server.error(&call), expected);
        assert_eq!(server.error(&peek_of(&call)), expected);
    }
}
