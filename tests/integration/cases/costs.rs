//! Costs: zero, oversize, mixed, and the last one that fits.

use crate::harness::{H, S, Server, play};

#[test]
fn c68_a_refused_call_takes_nothing_from_a_window() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.FIXED k 10 60s 7", [1, 10, 3, 0, 60_000]),
            (S, "RL.FIXED k 10 60s 5", [0, 10, 3, 59_000, 59_000]),
            (2 * S, "RL.FIXED k 10 60s 3", [1, 10, 0, 0, 58_000]),
        ],
    );
}

#[test]
fn c70_one_more_than_the_limit_is_never_admitted_and_the_limit_itself_is() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.GCRA g 10 10/s 11", [0, 10, 10, -1, 0]),
            (0, "RL.GCRA g 10 10/s 10", [1, 10, 0, 0, 1000]),
            (0, "RL.TOKENBUCKET t 10 10/s 11", [0, 10, 10, -1, 0]),
            (0, "RL.TOKENBUCKET t 10 10/s 10", [1, 10, 0, 0, 1000]),
            (0, "RL.SLIDINGLOG l 5 1s 6", [0, 5, 5, -1, 0]),
            (0, "RL.SLIDINGLOG l 5 1s 5", [1, 5, 0, 0, 1000]),
            (0, "RL.FIXED f 5 1s 6", [0, 5, 5, -1, 0]),
            (0, "RL.FIXED f 5 1s 5", [1, 5, 0, 0, 1000]),
            (0, "RL.SLIDINGCOUNTER c 5 1s 6", [0, 5, 5, -1, 0]),
            (0, "RL.SLIDINGCOUNTER c 5 1s 5", [1, 5, 0, 0, 2000]),
        ],
    );
}

#[test]
fn c72_mixed_costs_in_a_log_add_up() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.SLIDINGLOG k 10 60s 8", [1, 10, 2, 0, 60_000]),
            (S, "RL.SLIDINGLOG k 10 60s 4", [0, 10, 2, 59_000, 59_000]),
            (S, "RL.SLIDINGLOG k 10 60s 2", [1, 10, 0, 0, 60_000]),
            (60 * S, "RL.SLIDINGLOG k 10 60s 8", [1, 10, 0, 0, 60_000]),
        ],
    );
}

#[test]
fn c75_the_last_permitted_call_is_allowed_with_nothing_remaining() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.TOKENBUCKET t 2 2/60s", [1, 2, 1, 0, 30_000]),
            (0, "RL.TOKENBUCKET t 2 2/60s", [1, 2, 0, 0, 60_000]),
            (0, "RL.TOKENBUCKET t 2 2/60s", [0, 2, 0, 30_000, 60_000]),
            (0, "RL.GCRA g 2 2/60s", [1, 2, 1, 0, 30_000]),
            (0, "RL.GCRA g 2 2/60s", [1, 2, 0, 0, 60_000]),
            (0, "RL.GCRA g 2 2/60s", [0, 2, 0, 30_000, 60_000]),
            (0, "RL.FIXED f 2 60s", [1, 2, 1, 0, 60_000]),
            (0, "RL.FIXED f 2 60s", [1, 2, 0, 0, 60_000]),
            (0, "RL.FIXED f 2 60s", [0, 2, 0, 60_000, 60_000]),
            (0, "RL.SLIDINGLOG l 2 60s", [1, 2, 1, 0, 60_000]),
            (0, "RL.SLIDINGLOG l 2 60s", [1, 2, 0, 0, 60_000]),
            (0, "RL.SLIDINGLOG l 2 60s", [0, 2, 0, 60_000, 60_000]),
            (0, "RL.SLIDINGCOUNTER c 2 60s", [1, 2, 1, 0, 120_000]),
            (0, "RL.SLIDINGCOUNTER c 2 60s", [1, 2, 0, 0, 120_000]),
            (0, "RL.SLIDINGCOUNTER c 2 60s", [0, 2, 0, 90_000, 120_000]),
        ],
    );
}

#[test]
fn c76_a_sliding_counter_with_a_limit_of_one_admits_one() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.SLIDINGCOUNTER k 1 10s", [1, 1, 0, 0, 20_000]),
            (5 * S, "RL.SLIDINGCOUNTER k 1 10s", [0, 1, 0, 15_000, 15_000]),
            (20 * S - 1, "RL.SLIDINGCOUNTER k 1 10s", [0, 1, 0, 1, 1]),
            (20 * S, "RL.SLIDINGCOUNTER k 1 10s", [1, 1, 0, 0, 20_000]),
        ],
    );
}

#[test]
fn a_cost_of_zero_is_always_admitted_and_creates_nothing() {
    let server = Server::start();
    let looks = [
        ("RL.TOKENBUCKET k 3 3/60s", 60_000),
        ("RL.GCRA k 3 3/60s", 60_000),
        ("RL.FIXED k 3 60s", 60_000),
        ("RL.SLIDINGLOG k 3 60s", 60_000),
        ("RL.SLIDINGCOUNTER k 3 60s", 120_000),
    ];
    for (command, reset) in looks {
        let (free, all) = (format!("{command} 0"), format!("{command} 3"));
        play(&server, &[(0, &free, [1, 3, 3, 0, 0]), (0, &all, [1, 3, 0, 0, reset]), (0, &free, [1, 3, 0, 0, reset])]);
        server.run("FLUSHALL");
        server.five(&free);
        assert_eq!(server.get::<i64>("EXISTS k"), 0, "{free}");
    }
}

#[test]
fn a_limit_of_zero_is_closed_but_for_a_cost_of_zero() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.TOKENBUCKET t 0 1/s", [0, 0, 0, -1, 0]),
            (0, "RL.GCRA g 0 1/s", [0, 0, 0, -1, 0]),
            (0, "RL.FIXED f 0 1s", [0, 0, 0, -1, 0]),
            (0, "RL.FIXED f 0 1s 1 ALIGNED", [0, 0, 0, -1, 0]),
            (0, "RL.SLIDINGLOG l 0 1s", [0, 0, 0, -1, 0]),
            (0, "RL.SLIDINGCOUNTER c 0 1s", [0, 0, 0, -1, 0]),
            (H, "RL.TOKENBUCKET t 0 1/s", [0, 0, 0, -1, 0]),
            (H, "RL.TOKENBUCKET t 0 1/s 0", [1, 0, 0, 0, 0]),
            (H, "RL.GCRA g 0 1/s 0", [1, 0, 0, 0, 0]),
            (H, "RL.FIXED f 0 1s 0", [1, 0, 0, 0, 0]),
            (H, "RL.SLIDINGLOG l 0 1s 0", [1, 0, 0, 0, 0]),
            (H, "RL.SLIDINGCOUNTER c 0 1s 0", [1, 0, 0, 0, 0]),
        ],
    );
    assert_eq!(server.get::<i64>("DBSIZE"), 0);
}

#[test]
fn a_cost_of_what_remains_is_admitted_and_one_more_is_not() {
    let server = Server::start();
    for (command, pause) in [
        ("RL.TOKENBUCKET k 100 100/60s", 11 * S),
        ("RL.GCRA k 100 100/60s", 11 * S),
        ("RL.FIXED k 100 60s", 39 * S),
        ("RL.SLIDINGLOG k 100 60s", 50 * S),
        ("RL.SLIDINGCOUNTER k 100 60s", 50 * S),
    ] {
        server.run("FLUSHALL");
        for cost in [13, 1, 29] {
            server.advance(7 * S + 1);
            server.five(&format!("{command} {cost}"));
        }
        server.advance(pause + 1);
        let remaining = server.five(&format!("{command} 0"))[2];
        assert!((1..100).contains(&remaining), "{command} {remaining}");
        assert_eq!(server.five(&format!("{command} {}", remaining + 1))[0], 0, "{command}");
        let last = server.five(&format!("{command} {remaining}"));
        assert_eq!(last[..4], [1, 100, 0, 0], "{command}");
    }
}
