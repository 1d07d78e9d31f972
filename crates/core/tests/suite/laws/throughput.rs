//! How much can pass in a stretch of time, under one limit and on a clock that goes forward.

use limiter_core::limit::LOG_LIMIT;
use limiter_core::record::Algorithm;
use proptest::prelude::*;

use super::follow;
use crate::generate::steady_scenario;
use crate::key::Key;
use crate::runs;
use crate::scenario::{Numbers, Offset, Scenario};

struct Admitted {
    at: u128,
    cost: u128,
}

fn admitted(algorithm: Algorithm, scenario: &Scenario) -> Vec<Admitted> {
    let mut admitted = Vec::new();
    follow(algorithm, scenario, |now, _, _, decision| {
        if decision.allowed() {
            admitted.push(Admitted { at: now.at.into(), cost: now.cost.into() });
        }
        Ok(())
    })
    .unwrap();
    admitted
}

fn total<'a>(admitted: impl IntoIterator<Item = &'a Admitted>) -> u128 {
    admitted.into_iter().map(|call| call.cost).sum()
}

/// Checks `most` against what was admitted from any call to any later one.
fn check_stretches(admitted: &[Admitted], most: impl Fn(u128) -> u128) -> Result<(), TestCaseError> {
    for (index, first) in admitted.iter().enumerate() {
        let mut passed = 0;
        for call in &admitted[index..] {
            passed += call.cost;
            prop_assert!(passed <= most(call.at - first.at));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(runs(4_000))]

    #[test]
    fn a_bucket_never_passes_more_than_its_capacity_and_what_flows_in(scenario in steady_scenario(60)) {
        let numbers = scenario.calls[0].numbers;
        let (tokens, period) = (u128::from(numbers.filling_tokens()), u128::from(numbers.interval_us()));
        for algorithm in [Algorithm::TokenBucket, Algorithm::Gcra] {
            check_stretches(&admitted(algorithm, &scenario), |stretch| {
                u128::from(numbers.amount) + tokens * stretch / period
            })?;
        }
    }

    #[test]
    fn a_log_never_passes_more_than_its_limit_in_any_window(scenario in steady_scenario(120)) {
        let numbers = scenario.calls[0].numbers;
        let (limit, window) = (numbers.amount.min(LOG_LIMIT.max).into(), u128::from(numbers.interval_us()));
        let admitted = admitted(Algorithm::SlidingLog, &scenario);
        for last in &admitted {
            // The window that ends with this call: half-open, the call included.
            let within = |call: &&Admitted| call.at + window > last.at && call.at <= last.at;
            prop_assert!(total(admitted.iter().filter(within)) <= limit);
        }
    }

    #[test]
    fn an_aligned_window_never_passes_more_than_its_limit(scenario in steady_scenario(60)) {
        let numbers = scenario.calls[0].numbers;
        let limit = u128::from(numbers.amount);
        let window = u128::from(numbers.interval_us());
        let shift = numbers.offset_ms().map_or(0, |ms| window - u128::from(ms) * 1_000);
        let number = |call: &Admitted| (call.at + shift) / window;
        let fixed = admitted(Algorithm::Fixed, &scenario);
        let counter = admitted(Algorithm::SlidingCounter, &scenario);
        if numbers.alignment.is_some() {
            for last in &fixed {
                let same = |call: &&Admitted| number(call) == number(last);
                prop_assert!(total(fixed.iter().filter(same)) <= limit);
            }
        }
        for last in &counter {
            let same = |call: &&Admitted| call.at / window == last.at / window;
            prop_assert!(total(counter.iter().filter(same)) <= limit);
            let sliding = |call: &&Admitted| call.at + window > last.at && call.at <= last.at;
            prop_assert!(total(counter.iter().filter(sliding)) <= 2 * limit);
        }
    }

    #[test]
    fn a_window_opened_by_a_call_never_passes_more_than_its_limit(mut scenario in steady_scenario(60)) {
        for call in &mut scenario.calls {
            call.numbers.alignment = None;
        }
        let numbers = scenario.calls[0].numbers;
        let window = u128::from(numbers.interval_us());
        let (mut opened, mut passed) = (None, 0);
        for call in admitted(Algorithm::Fixed, &scenario).iter().filter(|call| call.cost > 0) {
            if opened.is_none_or(|at| call.at >= at + window) {
                (opened, passed) = (Some(call.at), 0);
            }
            passed += call.cost;
            prop_assert!(passed <= u128::from(numbers.amount));
        }
    }
}

fn numbers(amount: u64, tokens: u64, interval_ms: u64) -> Numbers {
    Numbers { amount, tokens, interval_ms, alignment: Some(Offset::None) }
}

/// How many calls of cost 1 pass when one comes every `every_us` for `seconds`.
fn saturated(algorithm: Algorithm, numbers: &Numbers, every_us: usize, seconds: u64) -> u64 {
    let start = 1_700_000_000_000_000;
    let mut key = Key::new(algorithm);
    let calls = (start..start + seconds * 1_000_000).step_by(every_us);
    calls.map(|now| u64::from(key.call(numbers, now, 1).allowed())).sum()
}

#[test]
#[cfg_attr(miri, ignore = "tens of thousands of calls take an interpreter too long")]
fn under_saturation_nothing_drifts() {
    // 115 a second, asked every millisecond for a minute; windows start full and so do buckets.
    let limit = numbers(115, 115, 1_000);
    assert_eq!(saturated(Algorithm::SlidingLog, &limit, 1_000, 60), 115 * 60);
    assert_eq!(saturated(Algorithm::Fixed, &limit, 1_000, 60), 115 * 60);
    // The last token of the 60 s is due at 60 s exactly, which is not asked any more.
    assert_eq!(saturated(Algorithm::TokenBucket, &limit, 1_000, 60), 115 + 115 * 60 - 1);
    assert_eq!(saturated(Algorithm::Gcra, &limit, 1_000, 60), 115 + 115 * 60 - 1);
}

#[test]
#[cfg_attr(miri, ignore = "tens of thousands of calls take an interpreter too long")]
fn a_log_stays_as_small_as_its_limit_under_saturation() {
    let limit = numbers(100, 1, 1_000);
    let mut key = Key::new(Algorithm::SlidingLog);
    let start = 1_700_000_000_000_000;
    for now in (start..start + 60_000_000).step_by(1_000) {
        key.call(&limit, now, 1);
        let bytes = key.record.as_ref().map_or(0, Vec::len);
        assert!(bytes <= 28 + 16 * 100, "{bytes} bytes");
    }
}

#[test]
#[cfg_attr(miri, ignore = "tens of thousands of calls take an interpreter too long")]
fn two_callers_with_different_limits_do_not_rewrite_a_log_at_every_call() {
    let (short, long) = (numbers(100_000, 1, 1_000), numbers(100_000, 1, 60_000));
    let mut key = Key::new(Algorithm::SlidingLog);
    let start = 1_700_000_000_000_000;
    for (index, now) in (start..start + 30_000_000_u64).step_by(1_000).enumerate() {
        let limit = if index % 2 == 0 { &short } else { &long };
        assert!(key.call(limit, now, 1).allowed());
    }
    assert!(key.rewrites <= 60, "{} rewrites in 30000 calls", key.rewrites);
}
