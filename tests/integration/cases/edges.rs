//! The edges of windows, and what a log holds.

use redis::Value;

use crate::harness::{MS, S, START, Server, five, play};

#[test]
fn c99_an_event_is_gone_at_the_end_of_its_window_and_not_before() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.SLIDINGLOG k 1 10s", [1, 1, 0, 0, 10_000]),
            (10 * S - 1, "RL.SLIDINGLOG k 1 10s", [0, 1, 0, 1, 1]),
            (10 * S, "RL.SLIDINGLOG k 1 10s", [1, 1, 0, 0, 10_000]),
        ],
    );
}

#[test]
fn c101_events_of_the_same_microsecond_are_all_counted() {
    let server = Server::start();
    let mut client = server.client();
    client.run("MULTI");
    for _ in 0..5 {
        client.run("RL.SLIDINGLOG k 3 60s");
    }
    let Value::Array(replies) = client.run("EXEC") else {
        panic!("no array");
    };
    let replies: Vec<_> = replies.into_iter().map(|reply| five(reply).unwrap()).collect();
    assert_eq!(
        replies,
        [
            [1, 3, 2, 0, 60_000],
            [1, 3, 1, 0, 60_000],
            [1, 3, 0, 0, 60_000],
            [0, 3, 0, 60_000, 60_000],
            [0, 3, 0, 60_000, 60_000],
        ]
    );
}

/// The tenths of a second at which a caller who never stops is admitted.
fn admitted_tenths(server: &Server, command: &str, count: i64) -> Vec<i64> {
    (0..count)
        .filter(|tenth| {
            server.set_clock(START + tenth * 100 * MS);
            server.five(command)[0] == 1
        })
        .collect()
}

#[test]
fn c103_a_caller_who_ignores_refusals_is_admitted_as_soon_as_any_other() {
    let server = Server::start();
    let log = admitted_tenths(&server, "RL.SLIDINGLOG log 2 2s", 80);
    assert_eq!(log, [0, 1, 20, 21, 40, 41, 60, 61]);
    let counter = admitted_tenths(&server, "RL.SLIDINGCOUNTER counter 2 2s", 80);
    assert_eq!(counter, [0, 1, 30, 40, 60]);
    let window = admitted_tenths(&server, "RL.FIXED window 2 2s", 80);
    assert_eq!(window, [0, 1, 20, 21, 40, 41, 60, 61]);
    let bucket = admitted_tenths(&server, "RL.TOKENBUCKET bucket 2 1/2s", 80);
    assert_eq!(bucket, [0, 1, 20, 40, 60]);

    server.run("FLUSHALL");
    server.set_clock(START);
    server.five("RL.SLIDINGLOG log 2 2s");
    server.advance(100 * MS);
    server.five("RL.SLIDINGLOG log 2 2s");
    server.advance(100 * MS);
    assert_eq!(server.five("RL.SLIDINGLOG log 2 2s"), [0, 2, 0, 1800, 1900]);
}

#[test]
fn c104_refused_calls_take_no_memory() {
    let server = Server::start();
    let call = "RL.SLIDINGLOG k 100 900s";
    let mut client = server.client();
    let count = |replies: Vec<Result<Value, String>>| -> i64 {
        replies.into_iter().map(|reply| five(reply.unwrap()).unwrap()[0]).sum()
    };
    assert_eq!(count(client.pipeline(&vec![call; 100])), 100);
    let full: i64 = client.get("MEMORY USAGE k");
    for part in 1..20 {
        server.set_clock(START + part * 45 * S);
        assert_eq!(count(client.pipeline(&vec![call; 1000])), 0);
        assert_eq!(client.get::<i64>("MEMORY USAGE k"), full);
    }
    let info: Vec<Value> = client.get("RL.INFO k");
    let events = info.iter().position(|field| *field == Value::BulkString(b"events".into()));
    assert_eq!(info[events.expect("a log shows its events") + 1], Value::Int(100));
}

#[test]
fn c105_the_previous_window_is_the_one_before_this() {
    let server = Server::start();
    play(
        &server,
        &[
            (5 * S, "RL.SLIDINGCOUNTER k 100 10s 50", [1, 100, 50, 0, 15_000]),
            (11 * S, "RL.SLIDINGCOUNTER k 100 10s 10", [1, 100, 45, 0, 19_000]),
            (11 * S, "RL.SLIDINGCOUNTER k 100 10s 46", [0, 100, 45, 200, 19_000]),
            (11 * S + 199_999, "RL.SLIDINGCOUNTER k 100 10s 46", [0, 100, 45, 1, 18_801]),
            (11 * S + 200_000, "RL.SLIDINGCOUNTER k 100 10s 46", [1, 100, 0, 0, 18_800]),
        ],
    );
    play(
        &server,
        &[
            (5 * S, "RL.SLIDINGCOUNTER k 100 10s 50", [1, 100, 50, 0, 15_000]),
            (11 * S, "RL.SLIDINGCOUNTER k 100 10s 10", [1, 100, 45, 0, 19_000]),
            (11 * S, "RL.SLIDINGCOUNTER k 100 10s 45", [1, 100, 0, 0, 19_000]),
        ],
    );
}

#[test]
fn c107_a_log_holds_across_the_edge_where_a_fixed_window_admits_twice() {
    let server = Server::start();
    play(
        &server,
        &[
            (900 * MS, "RL.SLIDINGLOG k 5 1s 5", [1, 5, 0, 0, 1000]),
            (1000 * MS, "RL.SLIDINGLOG k 5 1s 5", [0, 5, 0, 900, 900]),
            (1_899_999, "RL.SLIDINGLOG k 5 1s 5", [0, 5, 0, 1, 1]),
            (1900 * MS, "RL.SLIDINGLOG k 5 1s 5", [1, 5, 0, 0, 1000]),
        ],
    );
    play(
        &server,
        &[
            (900 * MS, "RL.FIXED k 5 1s 5 ALIGNED", [1, 5, 0, 0, 100]),
            (1000 * MS, "RL.FIXED k 5 1s 5 ALIGNED", [1, 5, 0, 0, 1000]),
        ],
    );
}

#[test]
fn c110_remaining_is_never_negative() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.FIXED k 5 60s 4", [1, 5, 1, 0, 60_000]),
            (0, "RL.FIXED k 5 60s 4", [0, 5, 1, 60_000, 60_000]),
            (S, "RL.FIXED k 3 60s", [0, 3, 0, 59_000, 59_000]),
            (0, "RL.SLIDINGLOG l 5 60s 4", [1, 5, 1, 0, 60_000]),
            (0, "RL.SLIDINGLOG l 3 60s", [0, 3, 0, 60_000, 60_000]),
            (0, "RL.SLIDINGCOUNTER c 5 60s 4", [1, 5, 1, 0, 120_000]),
            // Weight of the four left at 90 s: two.
            (0, "RL.SLIDINGCOUNTER c 3 60s", [0, 3, 0, 90_000, 120_000]),
            (0, "RL.GCRA g 5 5/60s 4", [1, 5, 1, 0, 48_000]),
            (0, "RL.GCRA g 3 5/60s", [0, 3, 0, 24_000, 48_000]),
        ],
    );
}
