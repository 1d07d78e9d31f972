//! Usage is stored and limits are applied: what changes when a call names other limits than the one before.

use crate::harness::{DAY, MS, S, START, Server, peek_of, play};

#[test]
fn the_same_limits_in_other_words_change_nothing() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.TOKENBUCKET k 10 10/60s 4", [1, 10, 6, 0, 24_000]),
            (S, "RL.TOKENBUCKET k 10 10/m", [1, 10, 5, 0, 29_000]),
            (S, "RL.TOKENBUCKET k 10 10/60000ms 6", [0, 10, 5, 5000, 29_000]),
            (S, "RL.TOKENBUCKET k 10 1/6s 6", [0, 10, 5, 5000, 29_000]),
            (0, "RL.FIXED f 10 60s 4", [1, 10, 6, 0, 60_000]),
            (S, "RL.FIXED f 10 1m 6", [1, 10, 0, 0, 59_000]),
        ],
    );
}

#[test]
fn a_raised_limit_frees_callers_at_once_and_a_lowered_one_binds_them() {
    let server = Server::start();
    for (at_ten, at_twenty, at_five) in [
        ("RL.TOKENBUCKET k 10 1/d", "RL.TOKENBUCKET k 20 1/d", "RL.TOKENBUCKET k 5 1/d"),
        ("RL.GCRA k 10 1/d", "RL.GCRA k 20 1/d", "RL.GCRA k 5 1/d"),
        ("RL.FIXED k 10 1d", "RL.FIXED k 20 1d", "RL.FIXED k 5 1d"),
        ("RL.SLIDINGLOG k 10 1d", "RL.SLIDINGLOG k 20 1d", "RL.SLIDINGLOG k 5 1d"),
        ("RL.SLIDINGCOUNTER k 10 1d", "RL.SLIDINGCOUNTER k 20 1d", "RL.SLIDINGCOUNTER k 5 1d"),
    ] {
        server.run("FLUSHALL");
        let admitted = |command: &str, calls: usize| (0..calls).filter(|_| server.five(command)[0] == 1).count();
        assert_eq!(admitted(at_ten, 12), 10, "{at_ten}");
        assert_eq!(admitted(at_twenty, 4), 4, "{at_twenty}");
        assert_eq!(server.five(at_five)[..3], [0, 5, 0], "{at_five}");
        assert_eq!(server.five(at_ten)[..3], [0, 10, 0], "{at_ten}");
        assert_eq!(admitted(at_twenty, 12), 6, "{at_twenty}");
        assert_eq!(server.five(&format!("{at_five} 0"))[..3], [1, 5, 0], "{at_five}");
        assert_eq!(server.five(&format!("{at_five} 6"))[3], -1, "{at_five}");
    }
}

#[test]
fn a_slower_rate_keeps_the_tokens_owed_and_brings_nothing_back_that_was_repaid() {
    let server = Server::start();
    for name in ["TOKENBUCKET", "GCRA"] {
        let (fast, slow) = (format!("RL.{name} k 10 10/60s 10"), format!("RL.{name} k 10 1/d"));
        play(
            &server,
            &[
                (0, &fast, [1, 10, 0, 0, 60_000]),
                (60 * S - 1, &slow, [0, 10, 0, 1, 1]),
                (60 * S, &slow, [1, 10, 9, 0, DAY / MS]),
            ],
        );
    }
}

#[test]
fn a_faster_rate_repays_what_is_owed_faster_from_the_start() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.TOKENBUCKET k 10 1/60s 10", [1, 10, 0, 0, 600_000]),
            (0, "RL.TOKENBUCKET k 10 1/s", [0, 10, 0, 1000, 10_000]),
            (S - 1, "RL.TOKENBUCKET k 10 1/s", [0, 10, 0, 1, 9001]),
            (S, "RL.TOKENBUCKET k 10 1/s", [1, 10, 0, 0, 10_000]),
        ],
    );
}

#[test]
fn an_admitted_call_stores_the_shorter_window_of_a_fixed_one_and_a_refused_one_does_not() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.FIXED k 2 60s", [1, 2, 1, 0, 60_000]),
            (S, "RL.FIXED k 1 30s", [0, 1, 0, 29_000, 29_000]),
            (2 * S, "RL.FIXED k 2 60s 0", [1, 2, 1, 0, 58_000]),
            (3 * S, "RL.FIXED k 2 30s", [1, 2, 0, 0, 27_000]),
            (4 * S, "RL.FIXED k 2 60s", [0, 2, 0, 26_000, 26_000]),
            (30 * S, "RL.FIXED k 2 60s", [1, 2, 1, 0, 60_000]),
        ],
    );
}

#[test]
fn an_admitted_call_with_a_shorter_window_drops_what_left_it_from_a_log() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.SLIDINGLOG k 5 60s", [1, 5, 4, 0, 60_000]),
            (10 * S, "RL.SLIDINGLOG k 5 60s", [1, 5, 3, 0, 60_000]),
            // Looking through the short window changes nothing.
            (15 * S, "RL.SLIDINGLOG k 5 6s 0", [1, 5, 4, 0, 1000]),
            (15 * S, "RL.SLIDINGLOG k 5 60s 0", [1, 5, 3, 0, 55_000]),
            (15 * S, "RL.SLIDINGLOG k 5 6s", [1, 5, 3, 0, 6000]),
            (15 * S, "RL.SLIDINGLOG k 5 60s 0", [1, 5, 3, 0, 6000]),
            (15 * S, "RL.SLIDINGLOG k 5 60s", [1, 5, 2, 0, 60_000]),
            (20 * S, "RL.SLIDINGLOG k 5 60s 0", [1, 5, 2, 0, 55_000]),
            (69 * S, "RL.SLIDINGLOG k 5 60s 4", [0, 5, 2, 6000, 6000]),
        ],
    );
}

#[test]
fn unit_costs_and_larger_ones_share_a_log() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.SLIDINGLOG k 10 60s", [1, 10, 9, 0, 60_000]),
            (S, "RL.SLIDINGLOG k 10 60s", [1, 10, 8, 0, 60_000]),
            (2 * S, "RL.SLIDINGLOG k 10 60s 5", [1, 10, 3, 0, 60_000]),
            (3 * S, "RL.SLIDINGLOG k 10 60s", [1, 10, 2, 0, 60_000]),
            (4 * S, "RL.SLIDINGLOG k 10 60s 4", [0, 10, 2, 57_000, 59_000]),
            (60 * S, "RL.SLIDINGLOG k 10 60s 4", [0, 10, 3, 1000, 3000]),
            (61 * S, "RL.SLIDINGLOG k 10 60s 4", [1, 10, 0, 0, 60_000]),
            (62 * S, "RL.SLIDINGLOG k 10 60s", [1, 10, 4, 0, 60_000]),
            (63 * S, "RL.SLIDINGLOG k 10 60s 5", [1, 10, 0, 0, 60_000]),
        ],
    );
}

#[test]
fn a_counter_with_another_window_is_judged_by_the_stored_one_and_restated_by_an_admitted_call() {
    let server = Server::start();
    play(
        &server,
        &[
            (30 * S, "RL.SLIDINGCOUNTER k 10 60s 4", [1, 10, 6, 0, 90_000]),
            // Refused: the four leave the stored windows of 60 s, with room for one when a quarter has.
            (40 * S, "RL.SLIDINGCOUNTER k 4 10s", [0, 4, 0, 35_000, 80_000]),
            // Admitted: five in the window from 40 to 50 s.
            (40 * S, "RL.SLIDINGCOUNTER k 10 10s", [1, 10, 5, 0, 20_000]),
            (45 * S, "RL.SLIDINGCOUNTER k 10 10s 6", [0, 10, 5, 7000, 15_000]),
            (52 * S, "RL.SLIDINGCOUNTER k 10 10s 6", [1, 10, 0, 0, 18_000]),
        ],
    );
    play(
        &server,
        &[
            (30 * S, "RL.SLIDINGCOUNTER k 10 60s 4", [1, 10, 6, 0, 90_000]),
            // Two and two thirds are left of the four, stated as three.
            (80 * S, "RL.SLIDINGCOUNTER k 10 10s 0", [1, 10, 7, 0, 40_000]),
            (80 * S, "RL.SLIDINGCOUNTER k 10 10s", [1, 10, 6, 0, 20_000]),
        ],
    );
}

#[test]
fn no_verdict_depends_on_whether_an_idle_key_was_deleted() {
    let server = Server::start();
    for (first, idle_after, then) in [
        ("RL.TOKENBUCKET k 10 10/s 10", S, "RL.TOKENBUCKET k 5 1/d"),
        ("RL.GCRA k 10 10/s 10", S, "RL.GCRA k 5 1/d"),
        ("RL.FIXED k 10 1s 10", S, "RL.FIXED k 5 1d"),
        ("RL.SLIDINGLOG k 10 1s 10", S, "RL.SLIDINGLOG k 5 1d"),
        ("RL.SLIDINGCOUNTER k 10 1s 10", 2 * S, "RL.SLIDINGCOUNTER k 5 10d"),
    ] {
        server.run("FLUSHALL");
        server.set_clock(START);
        server.five(first);
        server.run("PERSIST k");
        server.advance(idle_after);
        let kept: Vec<_> =
            [peek_of(then), format!("{then} 5"), then.into()].iter().map(|call| server.five(call)).collect();
        server.run("DEL k");
        let gone: Vec<_> =
            [peek_of(then), format!("{then} 5"), then.into()].iter().map(|call| server.five(call)).collect();
        assert_eq!(kept, gone, "{then}");
        assert_eq!(kept[1][..4], [1, 5, 0, 0], "{then}");
    }
}
