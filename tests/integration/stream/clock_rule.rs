//! State from a future that the clock has left behind is rewritten to now, by a refused call too, and only once.

use super::{Watched, records::*};
use crate::harness::{H, MS, START, limiters};

const HOUR: i64 = H / MS;

/// The record of two calls, taken to be of [`START`], and its expiry in milliseconds after it.
fn rewritten(name: &str) -> (String, i64) {
    let limits = |expiry| [2, 2, HOUR, expiry];
    match name {
        "TOKENBUCKET" => (bucket(TOKENBUCKET, START, 2 * H, limits(HOUR * 7 / 4)), HOUR * 7 / 4),
        "GCRA" => (bucket(GCRA, START, 2 * H, limits(HOUR * 7 / 4)), HOUR * 7 / 4),
        "FIXED" => (fixed(START, START, limits(HOUR + 1_000)), HOUR + 1_000),
        "SLIDINGCOUNTER" => (counter(START, [2, 0, 2, HOUR, 3 * HOUR]), 3 * HOUR),
        "SLIDINGLOG" => (log(LOG | WIDE, [2, 0, HOUR, START_MS + HOUR * 3 / 2], &[START, 2]), HOUR * 3 / 2),
        _ => unreachable!(),
    }
}

/// A state of two calls, ten hours ahead of the clock.
fn from_the_future(name: &str, limits: &str) -> Watched {
    let mut watched = Watched::start();
    watched.server.set_clock(START + 10 * H);
    for _ in 0..2 {
        assert_eq!(watched.server.five(&format!("RL.{name} k {limits}"))[0], 1);
    }
    watched.server.set_clock(START);
    watched.sent();
    watched
}

#[test]
fn a_refused_call_and_a_cost_of_nothing_rewrite_it_once() {
    for (name, limits) in limiters(2) {
        for (cost, allowed) in [(0, 1), (1, 0), (3, 0)] {
            let mut watched = from_the_future(name, &limits);
            let call = format!("RL.{name} k {limits} {cost}");
            let (record, expiry) = rewritten(name);
            for expected in [&[format!("SET k {record} PXAT {}", START_MS + expiry)][..], &[]] {
                assert_eq!(watched.server.five(&call)[0], allowed, "{call}");
                assert_eq!(watched.sent(), expected, "{call}");
            }
            assert_eq!(watched.server.state("k").1, START_MS + expiry);
        }
    }
}

#[test]
fn a_look_does_not() {
    for (name, limits) in limiters(2) {
        let mut watched = from_the_future(name, &limits);
        for look in ["RL.PEEK k", &format!("RL.PEEK k {name} {limits}"), "RL.INFO k"] {
            watched.silent(look);
        }
    }
}

#[test]
fn an_admitted_call_sends_the_rewrite_and_its_own_usage_at_once() {
    let mut watched = from_the_future("SLIDINGLOG", "2 1h");
    let expiry = START_MS + HOUR * 3 / 2;
    let record = log(LOG | WIDE, [3, 0, HOUR, expiry], &[START, 2, START, 3]);
    watched.admitted("RL.SLIDINGLOG k 3 1h", &[format!("SET k {record} PXAT {expiry}")]);

    let mut watched = from_the_future("TOKENBUCKET", "2 2/h");
    // Three tokens take an hour and a half.
    let expiry = HOUR * 3 / 2 * 7 / 4;
    let record = bucket(TOKENBUCKET, START, 3 * H, [3, 2, HOUR, expiry]);
    watched.admitted("RL.TOKENBUCKET k 3 2/h", &[format!("SET k {record} PXAT {}", START_MS + expiry)]);
}
