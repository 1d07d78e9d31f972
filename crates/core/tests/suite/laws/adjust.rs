//! What may be relied on when usage is put right after the fact.

use limiter_core::adjust::Delta;
use limiter_core::decision::{Decision, Retry};
use limiter_core::limit::{LOG_LIMIT, USED_MAX};
use limiter_core::record::Algorithm;
use limiter_core::time::{Span, Timestamp};
use proptest::prelude::*;

use super::algorithm;
use super::either_flow::short_way;
use crate::adjusting::{Step, Steps, delta};
use crate::generate::{busy_steps, numbers, steps};
use crate::key::{Key, told};
use crate::runs;
use crate::scenario::{Numbers, Told};

/// Does the steps on a new key, and shows what each of them leaves, with its moment and its limits, to `look`.
fn follow(
    algorithm: Algorithm,
    steps: &Steps,
    mut look: impl FnMut(&Key, u64, &Numbers) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let mut key = Key::new(algorithm);
    let mut now = steps.start;
    let mut last = Decision { limit: 0, used: 0, retry: Retry::Now, reset: Span::ZERO };
    let mut told_before = Told::default();
    for step in &steps.steps {
        let (Step::Call(call) | Step::Adjust(call, _)) = step;
        now = call.pause.resolve(now, &told_before);
        last = match step {
            Step::Call(_) => key.call(&call.numbers, now, call.cost.resolve(&told_before)),
            Step::Adjust(_, change) => match key.adjust(delta(change.resolve(&last)), now, steps.log_limit_max) {
                Ok(Some(decision)) => decision,
                Ok(None) | Err(_) => last,
            },
        };
        look(&settled(&key, now), now, &call.numbers)?;
        told_before = told(&last, &call.numbers, key.is_bucket());
    }
    Ok(())
}

/// The key with its clock put right, if that was wrong.
fn settled(key: &Key, now: u64) -> Key {
    let mut settled = key.clone();
    adjust(&mut settled, Delta::Charge(0), now);
    settled
}

fn adjust(key: &mut Key, delta: Delta, now: u64) -> Option<Decision> {
    key.adjust(delta, now, LOG_LIMIT.max).expect("within the bounds")
}

/// What calls of some costs would get under the stored limits; `None` if nothing is in use.
fn verdicts(key: &Key, now: u64, most: u64) -> Vec<Option<Decision>> {
    [0, 1, 2, most / 2, most, most + 1].map(|cost| key.peek(now, cost)).to_vec()
}

proptest! {
    #![proptest_config(runs(3_000))]

    #[test]
    fn a_caller_that_is_refused_above_the_limit_is_admitted_after_exactly_its_wait(
        algorithm in algorithm(),
        steps in steps(30),
        part in any::<u8>(),
        other in numbers(),
    ) {
        follow(algorithm, &steps, |key, now, numbers| {
            for (numbers, cost) in [(numbers, 1), (numbers, numbers.amount), (&other, 1), (&other, other.amount)] {
                // The refusal itself may put a wrong clock right.
                let mut refused = key.clone();
                let Retry::After(wait) = refused.call(numbers, now, cost).retry else { continue };
                let again = |after: u64| refused.clone().call(numbers, now + after, cost);
                let wait = wait.micros();
                if now + wait > Timestamp::MAX.micros() {
                    continue;
                }
                prop_assert!(again(wait).allowed());
                let early = u64::try_from(u128::from(wait) * u128::from(part) / 256).unwrap();
                for after in [early, wait - 1] {
                    prop_assert_eq!(again(after).retry, Retry::After(Span::from_micros(wait - after)));
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_charge_given_back_at_once_was_never_made(algorithm in algorithm(), steps in steps(30), more in 0..=50_u64) {
        follow(algorithm, &steps, |key, now, _| {
            let Some(before) = key.peek(now, 0) else { return Ok(()) };
            let mut changed = key.clone();
            if changed.adjust(Delta::Charge(more), now, LOG_LIMIT.max).is_err() {
                return Ok(());
            }
            prop_assert_eq!(changed.peek(now, 0).unwrap().used, before.used + more);
            let after = adjust(&mut changed, Delta::GiveBack(more), now);
            prop_assert_eq!(after, Some(before));
            for later in [0, 1, before.reset.micros() / 3, before.reset.micros() / 2, before.reset.micros()] {
                let later = (now + later).min(Timestamp::MAX.micros());
                prop_assert_eq!(verdicts(&changed, later, before.limit), verdicts(key, later, before.limit));
            }
            Ok(())
        })?;
    }

    #[test]
    fn two_adjustments_are_as_good_as_one_of_their_sum(
        algorithm in algorithm(),
        steps in steps(30),
        (first, second) in (1..=20_u64, 1..=20_u64),
    ) {
        follow(algorithm, &steps, |key, now, _| {
            let Some(before) = key.peek(now, 0) else { return Ok(()) };
            if before.used + first + second > USED_MAX {
                return Ok(());
            }
            for way in [Delta::Charge, Delta::GiveBack] {
                let (mut twice, mut once) = (key.clone(), key.clone());
                if once.adjust(way(first + second), now, LOG_LIMIT.max).is_err() {
                    continue;
                }
                adjust(&mut twice, way(first), now);
                adjust(&mut twice, way(second), now);
                prop_assert_eq!(verdicts(&twice, now, before.limit), verdicts(&once, now, before.limit));
            }
            Ok(())
        })?;
    }

    #[test]
    fn what_is_given_back_never_makes_more_than_a_new_limiter(
        algorithm in algorithm(),
        steps in steps(30),
        less in 1..=60_u64,
    ) {
        follow(algorithm, &steps, |key, now, numbers| {
            let mut changed = key.clone();
            let Some(after) = adjust(&mut changed, Delta::GiveBack(less), now) else {
                // Nothing is in use, and nothing is put right.
                prop_assert_eq!(&changed, key);
                return Ok(());
            };
            let before = key.peek(now, 0).unwrap();
            prop_assert!(after.used < before.used || algorithm == Algorithm::SlidingCounter || key.is_bucket());
            prop_assert!(after.used <= before.used && after.remaining() <= after.limit);
            prop_assert!(after.used >= before.used.saturating_sub(less));
            prop_assert!(after.reset <= before.reset);
            prop_assert_eq!(after.used == 0, after.reset == Span::ZERO);
            if after.used == 0 {
                for cost in [0, 1, numbers.amount, numbers.amount + 1] {
                    let new = Key::new(algorithm).call(numbers, now, cost);
                    prop_assert_eq!(changed.clone().call(numbers, now, cost), new);
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn what_was_used_in_a_time_that_is_gone_is_not_given_back(
        algorithm in algorithm(),
        steps in steps(20),
        way in prop_oneof![Just(1_i64), Just(-1), Just(0), Just(1_000), Just(-1_000)],
    ) {
        follow(algorithm, &steps, |key, now, _| {
            let Some(reset) = key.peek(now, 0).map(|decision| decision.reset.micros()) else { return Ok(()) };
            let over = now + reset;
            if over <= Timestamp::MAX.micros() {
                let mut gone = key.clone();
                prop_assert_eq!(adjust(&mut gone, delta(way), over), None);
                prop_assert_eq!(&gone, key);
                prop_assert_ne!(gone.adjust(delta(way), over - 1, LOG_LIMIT.max), Ok(None));
            }
            Ok(())
        })?;
    }

    #[test]
    fn calls_on_adjusted_state_get_the_same_by_the_short_way(
        algorithm in algorithm(),
        steps in prop_oneof![steps(40), busy_steps(60)],
    ) {
        follow(algorithm, &steps, |key, now, numbers| {
            for cost in [1, 2, numbers.amount] {
                let limit = key.limit(numbers);
                let Some((decision, record)) = short_way(key, &limit, now, cost) else { continue };
                let mut long = key.clone();
                prop_assert_eq!(long.call(numbers, now, cost), decision);
                prop_assert_eq!(&long.record, &Some(record));
                prop_assert_eq!(long.expiry_ms, key.expiry_ms);
            }
            Ok(())
        })?;
    }

    #[test]
    fn the_reply_is_what_a_call_of_nothing_gets(algorithm in algorithm(), steps in steps(30), way in -20..=20_i64) {
        follow(algorithm, &steps, |key, now, _| {
            let mut changed = key.clone();
            if let Ok(Some(decision)) = changed.adjust(delta(way), now, LOG_LIMIT.max) {
                prop_assert_eq!(decision.retry, Retry::Now);
                // Once more, from the bytes.
                let again = adjust(&mut changed, Delta::Charge(0), now);
                prop_assert!(again.is_none_or(|again| again == decision));
                prop_assert_eq!(again.is_none(), decision.used == 0);
            }
            Ok(())
        })?;
    }
}
