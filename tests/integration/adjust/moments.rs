//! Adjustments under a clock that is behind, and under one that was wrong.

use super::{NULL, play};
use crate::harness::{H, M, MS, S, START, Server, limiters};

#[test]
fn under_a_clock_that_is_behind_waits_count_from_the_stored_time() {
    let server = Server::start();
    play(
        &server,
        &[
            (M, "RL.TOKENBUCKET t 60 1/s 10", Some([1, 60, 50, 0, 10_000])),
            (40 * S, "RL.ADJUST t 10", Some([1, 60, 40, 0, 40_000])),
            (40 * S, "RL.ADJUST t -15", Some([1, 60, 55, 0, 25_000])),
            (M, "RL.FIXED f 60 1m 10", Some([1, 60, 50, 0, 60_000])),
            (40 * S, "RL.ADJUST f 10", Some([1, 60, 40, 0, 80_000])),
            (M, "RL.SLIDINGLOG l 60 1m 10", Some([1, 60, 50, 0, 60_000])),
            (40 * S, "RL.ADJUST l 10", Some([1, 60, 40, 0, 80_000])),
            (40 * S, "RL.ADJUST l -15", Some([1, 60, 55, 0, 80_000])),
            (M, "RL.SLIDINGCOUNTER c 60 1m 10", Some([1, 60, 50, 0, 120_000])),
            (40 * S, "RL.ADJUST c 10", Some([1, 60, 40, 0, 140_000])),
        ],
    );
}

#[test]
fn what_a_wrong_clock_has_written_is_put_right_first_and_then_adjusted() {
    let server = Server::start();
    for (name, limits) in limiters(4) {
        for (delta, remaining) in [("1", 0), ("-1", 2), ("0", 1), ("-3", 4), ("5", 0)] {
            server.run("FLUSHALL");
            server.set_clock(START + 100 * H);
            server.five(&format!("RL.{name} k {limits} 3"));
            server.set_clock(START);
            let reply = server.five(&format!("RL.ADJUST k {delta}"));
            assert_eq!(reply[..4], [1, 4, remaining, 0], "{name} {delta}");
            assert!(reply[4] <= 2 * H / MS, "{name} {delta}: {reply:?}");
            assert!(server.state("k").1 < (START + 7 * H) / MS, "{name} {delta}");
        }
    }
}

#[test]
fn errors_and_null_do_not_put_a_clock_right() {
    let server = Server::start();
    for (name, limits) in limiters(4) {
        server.run("FLUSHALL");
        server.set_clock(START + 100 * H);
        server.five(&format!("RL.{name} k {limits} 3"));
        let before = server.state("k");
        server.set_clock(START);
        server.error("RL.ADJUST k 1000000000000");
        assert_eq!(server.state("k"), before, "{name}");
    }
}

#[test]
fn the_last_moment_that_counts_can_be_adjusted_and_the_next_cannot() {
    let server = Server::start();
    for (command, needed) in [
        ("RL.TOKENBUCKET k 60 1/s 10", 10 * S),
        ("RL.FIXED k 60 1m", M),
        ("RL.FIXED k 60 1m 1 ALIGNED", M),
        ("RL.SLIDINGLOG k 60 1m", M),
        ("RL.SLIDINGCOUNTER k 60 1m", 2 * M),
    ] {
        // The key outlives its usage by a second or more.
        play(
            &server,
            &[
                (needed - 1, "RL.ADJUST k -1", NULL),
                (0, command, server_reply(&server, command)),
                (needed, "RL.ADJUST k 1", NULL),
            ],
        );
        server.run("FLUSHALL");
        server.set_clock(START);
        server.five(command);
        server.set_clock(START + needed - 1);
        assert_eq!(server.five("RL.ADJUST k 0")[4], 1, "{command}");
    }
}

fn server_reply(server: &Server, command: &str) -> Option<[i64; 5]> {
    server.run("FLUSHALL");
    server.set_clock(START);
    let reply = server.five(command);
    server.run("FLUSHALL");
    Some(reply)
}
