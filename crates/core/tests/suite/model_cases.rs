//! The model itself, held to figures worked out by hand and to the meaning of a wait.

use crate::model::bucket::{self, Bucket};
use crate::model::fixed_window::{self, FixedWindow};
use crate::model::sliding_counter::{self, SlidingCounter};
use crate::model::sliding_log::{self, SlidingLog};
use crate::model::{Int, Verdict, Wait, int};
use proptest::prelude::*;

const MS: u64 = 1_000;
const S: u64 = 1_000_000;

/// One call and what it should get. `wait` is -1 for never and 0 for an allowed call.
struct Step {
    at: u64,
    cost: u64,
    allowed: bool,
    remaining: u64,
    wait: i64,
    reset: u64,
}

const fn step(at: u64, cost: u64, allowed: bool, remaining: u64, wait: i64, reset: u64) -> Step {
    Step { at, cost, allowed, remaining, wait, reset }
}

fn follow(steps: &[Step], mut call: impl FnMut(&Int, &Int) -> Verdict) {
    for (index, step) in steps.iter().enumerate() {
        let got = call(&int(step.at), &int(step.cost));
        let wait = match step.wait {
            0 => Wait::Now,
            -1 => Wait::Never,
            wait => Wait::After(Int::from(wait)),
        };
        assert_eq!(
            (got.allowed, got.remaining, got.retry, got.reset),
            (step.allowed, int(step.remaining), wait, int(step.reset)),
            "call {index}"
        );
    }
}

fn bucket_limit(capacity: u64, tokens: u64, period: u64) -> bucket::Limit {
    bucket::Limit { capacity: int(capacity), tokens: int(tokens), period: int(period) }
}

fn fixed_limit(limit: u64, window: u64) -> fixed_window::Limit {
    fixed_window::Limit { limit: int(limit), window: int(window), aligned: None }
}

fn aligned_limit(limit: u64, window: u64, offset: u64) -> fixed_window::Limit {
    fixed_window::Limit { aligned: Some(int(offset)), ..fixed_limit(limit, window) }
}

fn log_limit(limit: u64, window: u64) -> sliding_log::Limit {
    sliding_log::Limit { limit: int(limit), window: int(window) }
}

fn counter_limit(limit: u64, window: u64) -> sliding_counter::Limit {
    sliding_counter::Limit { limit: int(limit), window: int(window) }
}

#[test]
fn a_bucket_of_three_per_five_seconds_waits_to_the_microsecond() {
    let limit = bucket_limit(1, 3, 5 * S);
    let mut bucket = Bucket::default();
    follow(
        &[
            step(0, 1, true, 0, 0, 1_666_667),
            step(100 * MS, 1, false, 0, 1_566_667, 1_566_667),
            step(1_666_666, 1, false, 0, 1, 1),
            step(1_666_667, 1, true, 0, 0, 1_666_667),
        ],
        |now, cost| bucket.call(&limit, now, cost),
    );
}

#[test]
fn a_bucket_takes_its_whole_capacity_and_never_more() {
    let limit = bucket_limit(5, 5, 10 * S);
    let mut bucket = Bucket::default();
    follow(
        &[
            step(0, 6, false, 5, -1, 0),
            step(0, 1, true, 4, 0, 2 * S),
            step(0, 5, false, 4, 2_000_000, 2 * S),
            step(1_999_999, 5, false, 4, 1, 1),
            step(2_000_000, 5, true, 0, 0, 10 * S),
        ],
        |now, cost| bucket.call(&limit, now, cost),
    );
}

#[test]
fn a_bucket_keeps_its_debt_in_tokens_when_the_rate_is_raised() {
    let mut bucket = Bucket::default();
    let slow = bucket_limit(16, 10, 20 * S);
    bucket.call(&slow, &int(0), &int(1));
    bucket.call(&slow, &int(0), &int(1));
    let got = bucket.call(&bucket_limit(16, 1_000, 20 * S), &int(0), &int(1));
    assert!(got.allowed);
    assert_eq!((got.remaining, got.reset), (int(13), int(60 * MS)));
}

#[test]
fn a_bucket_forgets_what_its_old_rate_has_paid() {
    let mut bucket = Bucket::default();
    bucket.call(&bucket_limit(10, 10, S), &int(0), &int(10));
    let daily = bucket_limit(10, 1, 86_400 * S);
    follow(&[step(999_999, 1, false, 0, 1, 1), step(1_000_000, 1, true, 9, 0, 86_400 * S)], |now, cost| {
        bucket.call(&daily, now, cost)
    });
}

#[test]
fn a_bucket_whose_clock_steps_back_waits_from_its_stored_time() {
    let limit = bucket_limit(10, 1, S);
    let mut bucket = Bucket::default();
    follow(
        &[
            step(100 * S, 10, true, 0, 0, 10 * S),
            step(95 * S, 1, false, 0, 6 * S as i64, 15 * S),
            step(90 * S, 1, false, 0, 11 * S as i64, 20 * S),
            step(90 * S - 1, 1, false, 0, S as i64, 10 * S),
            step(91 * S - 1, 1, true, 0, 0, 10 * S),
        ],
        |now, cost| bucket.call(&limit, now, cost),
    );
}

#[test]
fn a_fixed_window_opens_at_the_first_call_and_is_half_open() {
    let limit = fixed_limit(5, 60 * S);
    let mut window = FixedWindow::default();
    follow(
        &[
            step(7, 4, true, 1, 0, 60 * S),
            step(7 + S, 2, false, 1, 59 * S as i64, 59 * S),
            step(60 * S + 6, 2, false, 1, 1, 1),
            step(60 * S + 7, 2, true, 3, 0, 60 * S),
        ],
        |now, cost| window.call(&limit, now, cost),
    );
}

#[test]
fn an_aligned_window_ends_at_its_offset() {
    let limit = aligned_limit(3, 10 * S, 0);
    let mut window = FixedWindow::default();
    follow(
        &[
            step(0, 1, true, 2, 0, 10 * S),
            step(37 * S, 1, true, 2, 0, 3 * S),
            step(39_999_999, 1, true, 1, 0, 1),
            step(40 * S, 1, true, 2, 0, 10 * S),
        ],
        |now, cost| window.call(&limit, now, cost),
    );
    let mut window = FixedWindow::default();
    let limit = aligned_limit(3, 10 * S, 4 * S);
    follow(&[step(33 * S, 1, true, 2, 0, S), step(34 * S, 1, true, 2, 0, 10 * S)], |now, cost| {
        window.call(&limit, now, cost)
    });
}

#[test]
fn a_fixed_window_ends_at_the_shorter_of_both_lengths() {
    let mut window = FixedWindow::default();
    window.call(&fixed_limit(1, 60 * S), &int(0), &int(1));
    assert!(window.call(&fixed_limit(1, S), &int(S), &int(1)).allowed);
    let refused = window.call(&fixed_limit(1, 60 * S), &int(1_500_000), &int(1));
    assert_eq!(refused.retry, Wait::After(int(500 * MS)));
}

#[test]
fn a_log_waits_for_the_event_that_makes_room() {
    let limit = log_limit(10, 60 * S);
    let mut log = SlidingLog::default();
    follow(
        &[
            step(0, 3, true, 7, 0, 60 * S),
            step(10 * S, 3, true, 4, 0, 60 * S),
            step(20 * S, 4, true, 0, 0, 60 * S),
            step(30 * S, 6, false, 0, 40 * S as i64, 50 * S),
            step(30 * S, 3, false, 0, 30 * S as i64, 50 * S),
            step(30 * S, 11, false, 0, -1, 50 * S),
        ],
        |now, cost| log.call(&limit, now, cost),
    );
}

#[test]
fn a_log_forgets_at_the_shorter_of_both_windows() {
    let mut log = SlidingLog::default();
    log.call(&log_limit(1, S), &int(0), &int(1));
    let refused = log.call(&log_limit(1, 60 * S), &int(500 * MS), &int(1));
    assert_eq!(refused.retry, Wait::After(int(500 * MS)));
}

#[test]
fn a_log_whose_clock_was_wrong_becomes_one_event() {
    let limit = log_limit(4, 10 * S);
    let mut log = SlidingLog::default();
    follow(
        &[
            step(50 * S, 1, true, 3, 0, 10 * S),
            step(55 * S, 2, true, 1, 0, 10 * S),
            step(45 * S, 2, false, 1, 15 * S as i64, 20 * S),
            step(45 * S - 1, 2, false, 1, 10 * S as i64, 10 * S),
            step(55 * S - 1, 2, true, 2, 0, 10 * S),
        ],
        |now, cost| log.call(&limit, now, cost),
    );
}

#[test]
fn a_counter_of_one_is_free_when_its_weight_is_nothing() {
    let limit = counter_limit(1, 10 * S);
    let mut counter = SlidingCounter::default();
    follow(
        &[
            step(0, 1, true, 0, 0, 20 * S),
            step(5 * S, 1, false, 0, 15 * S as i64, 15 * S),
            step(19_999_999, 1, false, 0, 1, 1),
            step(20 * S, 1, true, 0, 0, 20 * S),
        ],
        |now, cost| counter.call(&limit, now, cost),
    );
}

#[test]
fn a_counter_fades_its_previous_window() {
    let limit = counter_limit(90, 180 * S);
    let mut counter = SlidingCounter::default();
    follow(
        &[
            step(179 * S, 90, true, 0, 0, 181 * S),
            step(330 * S, 76, false, 75, 2 * S as i64, 30 * S),
            step(330 * S, 75, true, 0, 0, 210 * S),
        ],
        |now, cost| counter.call(&limit, now, cost),
    );
    let limit = counter_limit(100, 10 * S);
    let mut counter = SlidingCounter::default();
    follow(
        &[
            step(5 * S, 50, true, 50, 0, 15 * S),
            step(11 * S, 10, true, 45, 0, 19 * S),
            step(11 * S, 46, false, 45, 200 * MS as i64, 19 * S),
            step(11 * S, 45, true, 0, 0, 19 * S),
        ],
        |now, cost| counter.call(&limit, now, cost),
    );
}

#[test]
fn a_counter_restates_its_usage_when_its_window_changes() {
    let mut counter = SlidingCounter::default();
    counter.call(&counter_limit(10, 10 * S), &int(5 * S), &int(3));
    // At 12.5 s three tokens weigh 2.25 under the old window, which rules until a call is admitted.
    let shorter = counter_limit(10, S);
    let refused = counter.call(&shorter, &int(12_500 * MS), &int(8));
    assert_eq!((refused.remaining, refused.reset), (int(7), int(7_500 * MS)));
    let admitted = counter.call(&shorter, &int(12_500 * MS), &int(1));
    assert_eq!((admitted.remaining, admitted.reset), (int(6), int(1_500 * MS)));
}

/// The least wait at which a copy of the state admits the call, found without any formula.
fn first_admitted(mut admits_after: impl FnMut(&Int) -> bool) -> Int {
    let mut fitting = int(1);
    while !admits_after(&fitting) {
        fitting *= 2;
    }
    let mut refused = &fitting / 2;
    while &fitting - &refused > int(1) {
        let middle: Int = (&refused + &fitting) / 2;
        if admits_after(&middle) {
            fitting = middle;
        } else {
            refused = middle;
        }
    }
    fitting
}

fn assert_wait_is_first(got: &Verdict, admits_after: impl FnMut(&Int) -> bool) {
    if let Wait::After(wait) = &got.retry {
        assert_eq!(*wait, first_admitted(admits_after));
    }
}

fn calls() -> impl Strategy<Value = Vec<(u64, u64, u64, u64)>> {
    // Limit, rate or window, cost, microseconds since the last call.
    prop::collection::vec((0..8_u64, 1..8_u64, 0..8_u64, 0..30_u64), 1..16)
}

proptest! {
    #[test]
    fn a_modelled_wait_ends_at_the_first_moment_that_admits(calls in calls(), steps_back in 0..20_u64) {
        let (mut bucket, mut window) = (Bucket::default(), FixedWindow::default());
        let (mut log, mut counter) = (SlidingLog::default(), SlidingCounter::default());
        let mut now = int(1_000);
        for (index, (limit, pace, cost, pause)) in calls.into_iter().enumerate() {
            now += pause;
            if index == 5 {
                now -= steps_back;
            }
            let cost = int(cost);

            let under = bucket_limit(limit, pace, 7);
            let got = bucket.call(&under, &now, &cost);
            let before = bucket.clone();
            assert_wait_is_first(&got, |wait| before.clone().call(&under, &(&now + wait), &cost).allowed);

            let under = fixed_limit(limit, pace * 3);
            let got = window.call(&under, &now, &cost);
            let before = window.clone();
            assert_wait_is_first(&got, |wait| before.clone().call(&under, &(&now + wait), &cost).allowed);

            let under = log_limit(limit, pace * 3);
            let got = log.call(&under, &now, &cost);
            let before = log.clone();
            assert_wait_is_first(&got, |wait| before.clone().call(&under, &(&now + wait), &cost).allowed);

            let under = counter_limit(limit, pace * 3);
            let got = counter.call(&under, &now, &cost);
            let before = counter.clone();
            assert_wait_is_first(&got, |wait| before.clone().call(&under, &(&now + wait), &cost).allowed);
        }
    }
}
