//! What is charged and given back, and what the calls after it are answered.

use std::collections::BTreeMap;

use redis::Value;

use super::{NULL, play};
use crate::harness::{H, M, MS, S, START, Server, limiters};

#[test]
fn a_bucket_gives_back_what_was_not_needed_and_waits_for_what_was_used_beyond_it() {
    let server = Server::start();
    for name in ["TOKENBUCKET", "GCRA"] {
        let call = |cost: &str| format!("RL.{name} k 100 1/s {cost}");
        let (all, one, ten) = (call("80"), call("1"), call("10"));
        play(
            &server,
            &[
                (0, &all, Some([1, 100, 20, 0, 80_000])),
                (10 * S, "RL.ADJUST k -30", Some([1, 100, 60, 0, 40_000])),
                // It turned out to be far more: 250 are owed, 150 above the capacity.
                (10 * S, "RL.ADJUST k 210", Some([1, 100, 0, 0, 250_000])),
                (10 * S, "RL.PEEK k 0", Some([1, 100, 0, 0, 250_000])),
                (10 * S, &one, Some([0, 100, 0, 151_000, 250_000])),
                (10 * S, &ten, Some([0, 100, 0, 160_000, 250_000])),
                (161 * S - 1, &one, Some([0, 100, 0, 1, 99_001])),
                (161 * S, &one, Some([1, 100, 0, 0, 100_000])),
            ],
        );
    }
}

#[test]
fn a_fixed_window_counts_more_until_its_end() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.FIXED k 10 60s 4", Some([1, 10, 6, 0, 60_000])),
            (S, "RL.ADJUST k 16", Some([1, 10, 0, 0, 59_000])),
            (S, "RL.FIXED k 10 60s", Some([0, 10, 0, 59_000, 59_000])),
            (S, "RL.FIXED k 30 60s 10", Some([1, 30, 0, 0, 59_000])),
            (S, "RL.ADJUST k -25", Some([1, 30, 25, 0, 59_000])),
            (60 * S, "RL.FIXED k 10 60s", Some([1, 10, 9, 0, 60_000])),
        ],
    );
}

#[test]
fn a_log_counts_a_charge_as_one_event_and_gives_back_the_newest_first() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.SLIDINGLOG k 5 60s 2", Some([1, 5, 3, 0, 60_000])),
            (10 * S, "RL.SLIDINGLOG k 5 60s", Some([1, 5, 2, 0, 60_000])),
            (20 * S, "RL.ADJUST k 4", Some([1, 5, 0, 0, 60_000])),
            // Seven of five are used: at 60 s two leave, at 70 s one more, and only at 80 s the charge.
            (20 * S, "RL.SLIDINGLOG k 5 60s", Some([0, 5, 0, 50_000, 60_000])),
            (20 * S, "RL.SLIDINGLOG k 5 60s 2", Some([0, 5, 0, 60_000, 60_000])),
            (30 * S, "RL.ADJUST k -5", Some([1, 5, 3, 0, 30_000])),
            (60 * S, "RL.ADJUST k -5", NULL),
        ],
    );
    // The newest is cut before the older goes.
    play(
        &server,
        &[
            (0, "RL.SLIDINGLOG k 9 60s 3", Some([1, 9, 6, 0, 60_000])),
            (10 * S, "RL.SLIDINGLOG k 9 60s 3", Some([1, 9, 3, 0, 60_000])),
            (10 * S, "RL.ADJUST k -2", Some([1, 9, 5, 0, 60_000])),
            (60 * S, "RL.PEEK k 0", Some([1, 9, 8, 0, 10_000])),
        ],
    );
}

#[test]
fn a_log_whose_costs_are_one_stays_one_of_eight_bytes_an_event() {
    let server = Server::start();
    let bytes = || server.get::<i64>("STRLEN k");
    for at in 0..4 {
        server.set_clock(START + at * S);
        server.five("RL.SLIDINGLOG k 9 60s");
    }
    assert_eq!(bytes(), 28 + 4 * 8);
    server.five("RL.ADJUST k 1");
    assert_eq!(bytes(), 28 + 5 * 8);
    server.five("RL.ADJUST k -2");
    assert_eq!(bytes(), 28 + 3 * 8);
    server.five("RL.ADJUST k 2");
    assert_eq!(bytes(), 28 + 4 * 16);
    // The heavy one is gone again, and with it the weights.
    server.five("RL.ADJUST k -2");
    assert_eq!(bytes(), 28 + 3 * 8);
    assert_eq!(server.five("RL.PEEK k 0"), [1, 9, 6, 0, 59_000]);
}

#[test]
fn a_counter_gives_back_its_current_count_first_and_then_the_one_before() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.SLIDINGCOUNTER k 20 60s 10", Some([1, 20, 10, 0, 120_000])),
            // Half of the ten weigh still.
            (90 * S, "RL.SLIDINGCOUNTER k 20 60s 4", Some([1, 20, 11, 0, 90_000])),
            (90 * S, "RL.ADJUST k -3", Some([1, 20, 14, 0, 90_000])),
            // One of this window, and four of the one before, of which half would have gone by now.
            (90 * S, "RL.ADJUST k -5", Some([1, 20, 17, 0, 30_000])),
            (90 * S, "RL.ADJUST k 40", Some([1, 20, 0, 0, 90_000])),
            (90 * S, "RL.SLIDINGCOUNTER k 20 60s", Some([0, 20, 0, 61_500, 90_000])),
            (90 * S + 61_500_000 - 1, "RL.SLIDINGCOUNTER k 20 60s", Some([0, 20, 0, 1, 28_501])),
            (90 * S + 61_500_000, "RL.SLIDINGCOUNTER k 20 60s", Some([1, 20, 0, 0, 88_500])),
        ],
    );
}

#[test]
fn more_than_was_used_is_not_given_back_and_what_is_empty_is_as_good_as_new() {
    let server = Server::start();
    for (name, limits) in limiters(5) {
        let call = format!("RL.{name} k {limits}");
        let new = server.five(&call);
        server.five(&format!("{call} 2"));
        server.advance(7 * S);
        assert_eq!(server.five("RL.ADJUST k -1000000000000"), [1, 5, 5, 0, 0], "{name}");
        for look in ["RL.PEEK k", "RL.PEEK k 5", "RL.ADJUST k 1", "RL.ADJUST k -1"] {
            assert_eq!(server.run(look), Value::Nil, "{name}: {look}");
        }
        let info: BTreeMap<String, Value> = server.get("RL.INFO k");
        let told = ["used", "remaining", "reset_after_ms"].map(|field| info[field].clone());
        assert_eq!(told, [0, 5, 0].map(Value::Int), "{name}");
        // It need not stay; if it does, a call finds nothing of it. A counter's windows are the clock's.
        let again = server.five(&call);
        assert_eq!(again[..4], new[..4], "{name}");
        assert!(name == "SLIDINGCOUNTER" || again[4] == new[4], "{name}: {again:?}");
        server.run("DEL k");
    }
}

#[test]
fn estimate_and_settle_end_where_the_right_cost_would_have() {
    let server = Server::start();
    for (name, limits) in limiters(100_000) {
        for (estimate, used) in [(900, 300), (900, 900), (900, 2_500)] {
            server.run("FLUSHALL");
            server.five(&format!("RL.{name} settled {limits} {estimate}"));
            let settled = server.five(&format!("RL.ADJUST settled {}", used - estimate));
            assert_eq!(settled, server.five(&format!("RL.{name} exact {limits} {used}")), "{name} {estimate} {used}");
        }
    }
}

#[test]
fn it_is_the_stored_limits_that_are_adjusted_under_and_the_calls_that_judge() {
    let server = Server::start();
    for (name, unit) in
        [("TOKENBUCKET", "1/h"), ("GCRA", "1/h"), ("FIXED", "1h"), ("SLIDINGLOG", "1h"), ("SLIDINGCOUNTER", "1h")]
    {
        server.run("FLUSHALL");
        server.five(&format!("RL.{name} k 5 {unit} 5"));
        assert_eq!(server.five("RL.ADJUST k 5")[..4], [1, 5, 0, 0], "{name}");
        assert_eq!(server.five(&format!("RL.{name} k 20 {unit}"))[..3], [1, 20, 9], "{name}");
        assert_eq!(server.five("RL.ADJUST k -3")[..4], [1, 20, 12, 0], "{name}");
        assert_eq!(server.five(&format!("RL.{name} k 3 {unit}"))[..3], [0, 3, 0], "{name}");
        // A refusal stores no limit.
        assert_eq!(server.five("RL.ADJUST k 0")[..4], [1, 20, 12, 0], "{name}");
    }
}

#[test]
fn info_shows_what_is_used_beyond_the_limit() {
    let server = Server::start();
    for (name, limits) in limiters(3) {
        server.five(&format!("RL.{name} {name} {limits} 2"));
        server.five(&format!("RL.ADJUST {name} 40"));
        let info: BTreeMap<String, Value> = server.get(&format!("RL.INFO {name}"));
        assert_eq!([&info["used"], &info["remaining"]], [&Value::Int(42), &Value::Int(0)], "{name}");
    }
}

#[test]
fn what_was_used_in_a_window_that_is_gone_is_not_given_back() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.FIXED k 10 60s 10", Some([1, 10, 0, 0, 60_000])),
            (M, "RL.ADJUST k -10", NULL),
            (M, "RL.FIXED k 10 60s 3", Some([1, 10, 7, 0, 60_000])),
            // Ten were charged in the window before; three are all there is.
            (M, "RL.ADJUST k -10", Some([1, 10, 10, 0, 0])),
            (M + S, "RL.FIXED k 10 60s 10", Some([1, 10, 0, 0, 60_000])),
        ],
    );
}

#[test]
fn a_block_stays_as_it_is() {
    let server = Server::start();
    for (name, limits) in limiters(3) {
        server.run("FLUSHALL");
        server.set_clock(START);
        server.five(&format!("RL.{name} k {limits} 3"));
        assert_eq!(server.five(&format!("RL.{name} k {limits} BLOCK 4h")), [0, 3, 0, 4 * 3_600_000, 4 * 3_600_000]);
        assert_eq!(server.five("RL.ADJUST k -2"), [1, 3, 0, 0, 4 * 3_600_000], "{name}");
        assert_eq!(server.five("RL.PEEK k"), [0, 3, 0, 4 * 3_600_000, 4 * 3_600_000], "{name}");
        assert_eq!(server.five("RL.ADJUST k -2"), [1, 3, 0, 0, 4 * 3_600_000], "{name}");
        assert!(server.state("k").1 >= (START + 4 * H) / MS, "{name}");
        // A charge counts under a block, but where it needs a window that is open.
        server.advance(4 * H - 1);
        assert_eq!(server.five("RL.ADJUST k 2")[..4], [1, 3, 0, 0], "{name}");
        server.advance(1);
        match name {
            "FIXED" => assert_eq!(server.run("RL.PEEK k"), Value::Nil),
            _ => assert_eq!(server.five("RL.PEEK k 0")[..3], [1, 3, 1], "{name}"),
        }
    }
}
