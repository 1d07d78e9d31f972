//! Very fast, very slow, very large.

use crate::harness::{DAY, H, MS, S, START, Server, play};

#[test]
fn c28_a_state_of_milliseconds_is_kept() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.GCRA k 1001 1000/60s", [1, 1001, 1000, 0, 60]),
            (0, "RL.GCRA k 1001 1000/60s", [1, 1001, 999, 0, 120]),
            (0, "RL.GCRA k 1001 1000/60s", [1, 1001, 998, 0, 180]),
            (60 * MS, "RL.GCRA k 1001 1000/60s", [1, 1001, 998, 0, 180]),
        ],
    );
    assert!(server.get::<i64>("PTTL k") >= 180);

    let calls = vec!["RL.GCRA full 1001 1000/60s"; 1001];
    let replies = server.client().pipeline(&calls);
    assert_eq!(replies.len(), 1001);
    assert_eq!(server.five("RL.PEEK full 0"), [1, 1001, 0, 0, 60_060]);
    assert_eq!(server.five(calls[0]), [0, 1001, 0, 60, 60_060]);
}

#[test]
fn c30_nothing_leaks_above_one_a_second() {
    let server = Server::start();
    let go = [1, 1, 0, 0, 500];
    let wait = |ms| [0, 1, 0, ms, ms];
    play(
        &server,
        &[
            (259 * MS, "RL.GCRA k 1 2/s", go),
            (533 * MS, "RL.GCRA k 1 2/s", wait(226)),
            (783 * MS, "RL.GCRA k 1 2/s", go),
            (1035 * MS, "RL.GCRA k 1 2/s", wait(248)),
            (1289 * MS, "RL.GCRA k 1 2/s", go),
            (1541 * MS, "RL.GCRA k 1 2/s", wait(248)),
            (1790 * MS, "RL.GCRA k 1 2/s", go),
            (2040 * MS, "RL.GCRA k 1 2/s", wait(250)),
        ],
    );
    play(
        &server,
        &[
            (259 * MS, "RL.GCRA k 3 2/s", [1, 3, 2, 0, 500]),
            (512 * MS, "RL.GCRA k 3 2/s", [1, 3, 1, 0, 747]),
            (765 * MS, "RL.GCRA k 3 2/s", [1, 3, 1, 0, 994]),
            (1016 * MS, "RL.GCRA k 3 2/s", [1, 3, 0, 0, 1243]),
            (1268 * MS, "RL.GCRA k 3 2/s", [1, 3, 0, 0, 1491]),
            (1519 * MS, "RL.GCRA k 3 2/s", [0, 3, 0, 240, 1240]),
            (1769 * MS, "RL.GCRA k 3 2/s", [1, 3, 0, 0, 1490]),
            (2021 * MS, "RL.GCRA k 3 2/s", [0, 3, 0, 238, 1238]),
            (2273 * MS, "RL.GCRA k 3 2/s", [1, 3, 0, 0, 1486]),
            (2523 * MS, "RL.GCRA k 3 2/s", [0, 3, 0, 236, 1236]),
            (2775 * MS, "RL.GCRA k 3 2/s", [1, 3, 0, 0, 1484]),
            (3025 * MS, "RL.GCRA k 3 2/s", [0, 3, 0, 234, 1234]),
        ],
    );

    let admitted: i64 = (0..=3565)
        .map(|ms| {
            server.set_clock(START + ms * MS);
            server.five("RL.GCRA bound 11 100/s")[0]
        })
        .sum();
    assert_eq!(admitted, 11 + 356);
}

#[test]
fn c31_half_a_millisecond_a_token_is_half_a_millisecond() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.GCRA k 1 2000/s", [1, 1, 0, 0, 1]),
            (499, "RL.GCRA k 1 2000/s", [0, 1, 0, 1, 1]),
            (500, "RL.GCRA k 1 2000/s", [1, 1, 0, 0, 1]),
        ],
    );
}

#[test]
fn c33_a_state_that_ends_within_this_millisecond_is_not_lost() {
    let server = Server::start();
    play(
        &server,
        &[
            (100, "RL.GCRA k 3 2000/s", [1, 3, 2, 0, 1]),
            (150, "RL.GCRA k 3 2000/s", [1, 3, 1, 0, 1]),
            (200, "RL.GCRA k 3 2000/s", [1, 3, 0, 0, 2]),
            (250, "RL.GCRA k 3 2000/s", [0, 3, 0, 1, 2]),
            (599, "RL.GCRA k 3 2000/s", [0, 3, 0, 1, 2]),
            (600, "RL.GCRA k 3 2000/s", [1, 3, 0, 0, 2]),
        ],
    );
}

#[test]
fn c35_numbers_at_the_end_of_64_bits_are_errors_and_touch_nothing() {
    let server = Server::start();
    for (command, argument) in [
        ("RL.GCRA k 9223372036854775807 1/s", "burst"),
        ("RL.GCRA k 9223372036854775808 1/s", "burst"),
        ("RL.GCRA k 1 1/9223372036855s", "rate"),
        ("RL.GCRA k 1 9223372036854775807/s", "rate"),
        ("RL.GCRA k 1 1/s 9223372036854775807", "cost"),
        ("RL.TOKENBUCKET k 18446744073709551617 1/s", "capacity"),
        ("RL.FIXED k 18446744073709551617 1s", "limit"),
        ("RL.FIXED k 1 18446744073709551617ms", "window"),
        ("RL.SLIDINGCOUNTER k 1 1s 340282366920938463463374607431768211457", "cost"),
    ] {
        let error = server.error(command);
        assert!(error.starts_with(&format!("ERR {argument}: ")), "{command}: {error}");
    }
    assert_eq!(server.get::<i64>("EXISTS k"), 0);
}

#[test]
fn c35_the_largest_limits_there_are_work() {
    let server = Server::start();
    const MOST: i64 = 1_000_000_000_000;
    const FILL: i64 = 3_650_000 * 86_400_000;
    play(
        &server,
        &[
            (0, "RL.GCRA k 1000000000000 1000000000/3650d 1000000000000", [1, MOST, 0, 0, FILL]),
            (0, "RL.GCRA k 1000000000000 1000000000/3650d 1000000000000", [0, MOST, 0, FILL, FILL]),
            (0, "RL.GCRA k 1000000000000 1000000000/3650d", [0, MOST, 0, 316, FILL]),
            (0, "RL.TOKENBUCKET t 1000000000000 1000000000000/1ms 1000000000000", [1, MOST, 0, 0, 1]),
            (0, "RL.TOKENBUCKET t 1000000000000 1000000000000/1ms 1000000000000", [0, MOST, 0, 1, 1]),
            (999, "RL.TOKENBUCKET t 1000000000000 1000000000000/1ms 1000000000000", [0, MOST, 999_000_000_000, 1, 1]),
            (MS, "RL.TOKENBUCKET t 1000000000000 1000000000000/1ms 1000000000000", [1, MOST, 0, 0, 1]),
            (MS, "RL.FIXED f 1000000000000 3650d 1000000000000", [1, MOST, 0, 0, 3650 * DAY / MS]),
            (MS, "RL.SLIDINGLOG l 1000000 3650d 1000000", [1, 1_000_000, 0, 0, 3650 * DAY / MS]),
        ],
    );
}

#[test]
fn c36_a_long_idle_time_at_a_high_rate_does_not_overflow() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.TOKENBUCKET k 300000000 300000000/s 300000000", [1, 300_000_000, 0, 0, 1000]),
            (12 * H, "RL.TOKENBUCKET k 300000000 300000000/s", [1, 300_000_000, 299_999_999, 0, 1]),
        ],
    );
}

#[test]
fn c40_more_than_a_billion_a_second_is_still_exact() {
    let server = Server::start();
    const C: i64 = 1_000_000_001;
    let call = |cost| format!("RL.GCRA k {C} {C}/s {cost}");
    play(
        &server,
        &[
            (0, &call(C), [1, C, 0, 0, 1000]),
            (1, &call(1000), [1, C, 0, 0, 1000]),
            (1, &call(1001), [0, C, 0, 1, 1000]),
            (2, &call(1001), [0, C, 1000, 1, 1000]),
            (3, &call(1001), [1, C, 999, 0, 1000]),
        ],
    );
}

#[test]
fn c46_one_a_day_and_one_a_month_keep_their_period() {
    let server = Server::start();
    play(
        &server,
        &[
            (0, "RL.GCRA k 1 1/d", [1, 1, 0, 0, 86_400_000]),
            (DAY - 1, "RL.GCRA k 1 1/d", [0, 1, 0, 1, 1]),
            (DAY, "RL.GCRA k 1 1/d", [1, 1, 0, 0, 86_400_000]),
        ],
    );
    play(
        &server,
        &[
            (0, "RL.GCRA k 5 5/86400s", [1, 5, 4, 0, 17_280_000]),
            (0, "RL.GCRA k 5 5/86400s", [1, 5, 3, 0, 34_560_000]),
            (0, "RL.GCRA k 5 5/86400s", [1, 5, 2, 0, 51_840_000]),
            (0, "RL.GCRA k 5 5/86400s", [1, 5, 1, 0, 69_120_000]),
            (0, "RL.GCRA k 5 5/86400s", [1, 5, 0, 0, 86_400_000]),
            (0, "RL.GCRA k 5 5/86400s", [0, 5, 0, 17_280_000, 86_400_000]),
        ],
    );
    play(
        &server,
        &[
            (0, "RL.FIXED k 1 31d", [1, 1, 0, 0, 2_678_400_000]),
            (30 * DAY, "RL.FIXED k 1 31d", [0, 1, 0, 86_400_000, 86_400_000]),
            (31 * DAY, "RL.FIXED k 1 31d", [1, 1, 0, 0, 2_678_400_000]),
        ],
    );
}

#[test]
fn c52_a_saturated_log_admits_its_limit_each_second_for_ever() {
    let server = Server::start();
    let poll = |ms: i64| {
        server.set_clock(START + ms * MS);
        server.five("RL.SLIDINGLOG k 115 1s")[0]
    };
    let each_millisecond: i64 = (0..10_000).map(poll).sum();
    assert_eq!(each_millisecond, 1150);
    // Later only at the moments when something is decided: those of the admitted calls, and the one after.
    for second in 10..50 {
        let admitted: i64 = (0..116).map(|ms| poll(second * 1000 + ms)).sum();
        assert_eq!(admitted, 115, "in second {second}");
    }
}

#[test]
fn a_rate_that_does_not_divide_evenly_never_drifts() {
    let server = Server::start();
    assert_eq!(server.five("RL.TOKENBUCKET k 7 7/3s 7"), [1, 7, 0, 0, 3000]);
    for token in 1..=700 {
        let due = (token * 3 * S + 6) / 7;
        server.set_clock(START + due - 1);
        assert_eq!(server.five("RL.TOKENBUCKET k 7 7/3s")[..4], [0, 7, 0, 1], "token {token}");
        server.set_clock(START + due);
        assert_eq!(server.five("RL.TOKENBUCKET k 7 7/3s")[..4], [1, 7, 0, 0], "token {token}");
    }
}
