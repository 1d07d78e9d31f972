//! Lists that change, case by case.

use limiter_core::call::Limit;
use limiter_core::compound::LIMITS_MAX;
use limiter_core::fixed_window::Opening;
use limiter_core::limit::{BucketLimit, Rate, WindowLimit};
use limiter_core::matching::Stored;
use limiter_core::options::Options;
use limiter_core::request::Call;
use limiter_core::time::Interval;

use super::key::ListKey;

const HOUR: u64 = 3_600_000;
const MINUTE: u64 = 60_000;
const START: u64 = 1_767_225_600_000_000;

fn fixed(limit: u64, window_ms: u64, cost: u64) -> Call {
    let limit = WindowLimit::new(limit, Interval::from_millis(window_ms).unwrap()).unwrap();
    Call { limit: Limit::Fixed(limit, Opening::FirstCall), cost, options: Options::NONE }
}

fn bucket(capacity: u64, tokens: u64, period_ms: u64, cost: u64) -> Call {
    let rate = Rate::new(tokens, Interval::from_millis(period_ms).unwrap()).unwrap();
    Call { limit: Limit::TokenBucket(BucketLimit::new(capacity, rate).unwrap()), cost, options: Options::NONE }
}

/// What is in use in each limit after the call.
fn used(key: &mut ListKey, calls: &[Call]) -> Vec<u64> {
    key.call(calls, START).unwrap().each().iter().map(|decision| decision.used).collect()
}

#[test]
fn limits_find_their_usage_by_window_wherever_they_stand() {
    let mut key = ListKey::default();
    assert_eq!(used(&mut key, &[fixed(100, HOUR, 1), fixed(100, MINUTE, 2)]), [1, 2]);
    assert_eq!(used(&mut key, &[fixed(100, MINUTE, 2), fixed(100, HOUR, 1)]), [4, 2]);
    assert_eq!(used(&mut key, &[fixed(100, HOUR, 1)]), [3]);
}

#[test]
fn a_window_that_is_changed_takes_the_state_that_nobody_else_takes() {
    let mut key = ListKey::default();
    assert_eq!(used(&mut key, &[fixed(100, HOUR, 1), fixed(100, MINUTE, 2)]), [1, 2]);
    assert_eq!(used(&mut key, &[fixed(100, 2 * HOUR, 1), fixed(100, MINUTE, 2)]), [2, 4]);
    // The second limit finds its own window first; then the first takes what is left.
    assert_eq!(used(&mut key, &[fixed(100, 3 * HOUR, 1), fixed(100, 2 * HOUR, 1)]), [5, 3]);
}

#[test]
fn limits_of_the_same_window_are_told_apart_by_their_order() {
    let mut key = ListKey::default();
    assert_eq!(used(&mut key, &[fixed(100, HOUR, 1), fixed(50, HOUR, 2)]), [1, 2]);
    assert_eq!(used(&mut key, &[fixed(50, HOUR, 2)]), [3]);
}

#[test]
fn buckets_are_told_apart_by_the_period_of_their_rate() {
    let mut key = ListKey::default();
    assert_eq!(used(&mut key, &[bucket(20, 10, 1_000, 1), bucket(1_000, 100, HOUR, 5)]), [1, 5]);
    assert_eq!(used(&mut key, &[bucket(1_000, 200, HOUR, 5)]), [10]);
}

#[test]
fn a_window_that_was_shortened_while_open_stays_with_the_limit_that_shortened_it() {
    let mut key = ListKey::default();
    assert_eq!(used(&mut key, &[fixed(100, MINUTE, 1), fixed(100, 2 * MINUTE, 7)]), [1, 7]);
    // The first window is a minute yet, although an hour is asked for.
    assert_eq!(used(&mut key, &[fixed(100, HOUR, 1), fixed(100, 2 * MINUTE, 7)]), [2, 14]);
    assert_eq!(used(&mut key, &[fixed(100, HOUR, 1), fixed(100, 2 * MINUTE, 7)]), [3, 21]);
    assert_eq!(used(&mut key, &[fixed(100, 2 * MINUTE, 7), fixed(100, HOUR, 1)]), [28, 4]);
}

#[test]
fn a_state_without_a_limit_is_kept_until_a_call_is_let_in() {
    let mut key = ListKey::default();
    assert_eq!(used(&mut key, &[fixed(10, HOUR, 1), bucket(5, 1, HOUR, 5)]), [1, 5]);
    // Refused: the bucket is not forgotten.
    assert_eq!(used(&mut key, &[fixed(10, HOUR, 10)]), [1]);
    assert_eq!(used(&mut key, &[fixed(10, HOUR, 0), bucket(5, 1, HOUR, 0)]), [1, 5]);
    // Let in: it is.
    assert_eq!(used(&mut key, &[fixed(10, HOUR, 1)]), [2]);
    assert_eq!(used(&mut key, &[fixed(10, HOUR, 0), bucket(5, 1, HOUR, 0)]), [2, 0]);
}

#[test]
fn a_limit_that_has_taken_nothing_keeps_its_place() {
    let mut key = ListKey::default();
    assert_eq!(used(&mut key, &[fixed(10, HOUR, 0), fixed(10, MINUTE, 1)]), [0, 1]);
    assert_eq!(Stored::read(key.record.as_deref()).unwrap().len(), 2);
    assert_eq!(used(&mut key, &[fixed(10, HOUR, 1), fixed(10, MINUTE, 1)]), [1, 2]);
}

#[test]
fn as_many_limits_as_may_be_share_a_key() {
    let mut key = ListKey::default();
    let windows = 1..=LIMITS_MAX as u64;
    let calls: Vec<Call> = windows.map(|minutes| fixed(10, minutes * MINUTE, minutes % 2)).collect();
    for _ in 0..2 {
        assert!(key.call(&calls, START).unwrap().allowed());
    }
    let expected: Vec<u64> = calls.iter().map(|call| 2 * call.cost).collect();
    let looks: Vec<Call> = calls.iter().map(|call| Call { cost: 0, ..*call }).collect();
    assert_eq!(used(&mut key, &looks), expected);
    assert_eq!(Stored::read(key.record.as_deref()).unwrap().len(), LIMITS_MAX);
}

#[test]
fn the_binding_limit_of_a_tie_is_the_first() {
    let mut key = ListKey::default();
    let verdict = key.call(&[fixed(10, HOUR, 5), fixed(3, HOUR, 2), fixed(2, HOUR, 1)], START).unwrap();
    // Left: 5, 1 and 1, which is enough for one call, none, and one.
    assert_eq!((verdict.allowed(), verdict.binding()), (true, 2));
    let mut key = ListKey::default();
    let verdict = key.call(&[fixed(10, HOUR, 5), fixed(4, HOUR, 2), fixed(1, HOUR, 0)], START).unwrap();
    assert_eq!((verdict.allowed(), verdict.binding()), (true, 1));
    let verdict = key.call(&[fixed(10, HOUR, 6), fixed(4, HOUR, 3), fixed(1, HOUR, 1)], START).unwrap();
    assert_eq!((verdict.allowed(), verdict.binding()), (false, 1));
    let verdict = key.call(&[fixed(10, HOUR, 6), fixed(4, HOUR, 5), fixed(1, HOUR, 1)], START).unwrap();
    assert_eq!((verdict.whole().reply()[3], verdict.binding()), (-1, 2));
}

#[test]
fn a_list_in_steady_use_takes_the_short_way() {
    let mut key = ListKey::default();
    let calls = [bucket(1_000, 100, 1_000, 1), fixed(100_000, HOUR, 2)];
    for call in 0..1_000 {
        assert!(key.call(&calls, START + call * 10_000).unwrap().allowed());
    }
    assert!(key.short > 950, "{} of 1000", key.short);
}
